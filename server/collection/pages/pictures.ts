import { Readable } from 'node:stream';
import { createInflate } from 'node:zlib';
import { PNG } from 'pngjs';
import type { Region } from '../../../shared/collection/page.ts';
import { readBody } from '../derived/body.ts';
import { NotDerivableError, type ObjectToRead, type PictureComparison } from '../derived/process/tasks.ts';

interface Picture {
  width: number;
  height: number;
  /** One number a pixel. */
  pixels: Uint32Array;
  /** A number for each row; rows that differ rarely have the same. */
  rows: Uint32Array;
}

/** Rows of both pictures that belong together: equal ones, or what replaced what. */
interface Piece {
  before: [start: number, end: number];
  after: [start: number, end: number];
  isSame: boolean;
}

/** Changed pixels in squares of this side belong to one region, and so do squares that touch. */
const BLOCK = 16;
const MAX_REGIONS = 200;

/**
 * Compares two pictures of a page row by row, so that what an inserted banner only moved does not count as changed. Blocks
 * its thread; runs in the derive process.
 *
 * @throws NotDerivableError if a picture cannot be read
 */
export function comparePictures(from: ObjectToRead, to: ObjectToRead): PictureComparison {
  const before = readPicture(from);
  const after = readPicture(to);
  const pieces = before.width === after.width ? align(before.rows, after.rows) : [whole(before, after)];
  let changed = 0;
  const regions: Region[] = [];
  for (const piece of pieces) {
    if (piece.isSame) continue;
    const found = compareRows(before, after, piece);
    changed += found.changed;
    regions.push(...found.regions);
  }
  const size = Math.max(before.width * before.height, after.width * after.height);
  return { share: Math.min(1, changed / size), regions: regions.slice(0, MAX_REGIONS) };
}

function readPicture(object: ObjectToRead): Picture {
  const { bytes } = readBody(object, MAX_PICTURE_BYTES);
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  // The size is in the header, so that a picture that claims to be huge is not decoded.
  const claimed = buffer.length > 24 ? buffer.readUInt32BE(16) * buffer.readUInt32BE(20) : 0;
  if (claimed === 0 || claimed > MAX_PIXELS)
    throw new NotDerivableError('too_large', 'The picture has too many pixels.');
  let decoded: PNG;
  try {
    decoded = PNG.sync.read(buffer);
  } catch (error) {
    throw new NotDerivableError('tool_failed', 'The picture cannot be decoded.', error);
  }
  const { width, height, data } = decoded;
  const pixels = new Uint32Array(data.buffer, data.byteOffset, width * height);
  const rows = new Uint32Array(height);
  for (let y = 0; y < height; y += 1) {
    let sum = 2_166_136_261;
    for (let at = y * width; at < (y + 1) * width; at += 1)
      sum = Math.imul(sum ^ (pixels[at] ?? 0), 16_777_619);
    rows[y] = sum;
  }
  return { width, height, pixels, rows };
}

function whole(before: Picture, after: Picture): Piece {
  return { before: [0, before.height], after: [0, after.height], isSame: false };
}

/** Finds the rows that both pictures share, in order: by the rows that occur once in each (patience diff). */
function align(before: Uint32Array, after: Uint32Array): Piece[] {
  const pieces: Piece[] = [];
  let [b, a] = [0, 0];
  const add = (bEnd: number, aEnd: number, isSame: boolean) => {
    if (bEnd > b || aEnd > a) pieces.push({ before: [b, bEnd], after: [a, aEnd], isSame });
    [b, a] = [bEnd, aEnd];
  };
  for (const [anchorB, anchorA] of [...anchors(before, after), [before.length, after.length] as const]) {
    if (anchorB < b || anchorA < a) continue;
    // Extends the last anchor forwards and this one backwards over equal rows.
    let [sameB, sameA] = [b, a];
    while (sameB < anchorB && sameA < anchorA && before[sameB] === after[sameA])
      [sameB, sameA] = [sameB + 1, sameA + 1];
    add(sameB, sameA, true);
    let [endB, endA] = [anchorB, anchorA];
    while (endB > b && endA > a && before[endB - 1] === after[endA - 1]) [endB, endA] = [endB - 1, endA - 1];
    add(endB, endA, false);
    add(anchorB, anchorA, true);
  }
  return pieces;
}

/** The longest increasing sequence of rows that occur exactly once in both pictures. */
function anchors(before: Uint32Array, after: Uint32Array): [number, number][] {
  const once = (rows: Uint32Array) => {
    const found = new Map<number, number>();
    for (const [index, row] of rows.entries()) found.set(row, found.has(row) ? -1 : index);
    return found;
  };
  const inAfter = once(after);
  const pairs = [...once(before)]
    .map(([row, index]): [number, number] => [index, inAfter.get(row) ?? -1])
    .filter(([left, right]) => left >= 0 && right >= 0)
    .sort(([left], [right]) => left - right);
  const tails: number[] = [];
  const previous = pairs.map(() => -1);
  for (const [index, [, row]] of pairs.entries()) {
    let low = 0;
    for (let high = tails.length; low < high; ) {
      const middle = (low + high) >> 1;
      if ((pairs[tails[middle] ?? 0]?.[1] ?? 0) < row) low = middle + 1;
      else high = middle;
    }
    previous[index] = low > 0 ? (tails[low - 1] ?? -1) : -1;
    tails[low] = index;
  }
  const sequence: [number, number][] = [];
  for (let at = tails.at(-1) ?? -1; at >= 0; at = previous[at] ?? -1) sequence.push(pairs[at] ?? [0, 0]);
  return sequence.reverse();
}

/** Compares rows that replaced others, pixel by pixel as far as both go. */
function compareRows(before: Picture, after: Picture, piece: Piece): { changed: number; regions: Region[] } {
  const [bStart, bEnd] = piece.before;
  const [aStart, aEnd] = piece.after;
  const width = Math.max(before.width, after.width);
  const shared = Math.min(bEnd - bStart, aEnd - aStart);
  const columns = Math.ceil(width / BLOCK);
  const lines = Math.ceil(Math.max(1, aEnd - aStart) / BLOCK);
  const isChanged = new Uint8Array(columns * lines);
  let changed = Math.abs(bEnd - bStart - (aEnd - aStart)) * width;
  for (let y = 0; y < shared; y += 1) {
    const left = (bStart + y) * before.width;
    const right = (aStart + y) * after.width;
    for (let x = 0; x < width; x += 1) {
      const isOutside = x >= before.width || x >= after.width;
      if (!isOutside && before.pixels[left + x] === after.pixels[right + x]) continue;
      changed += 1;
      isChanged[Math.floor(y / BLOCK) * columns + Math.floor(x / BLOCK)] = 1;
    }
  }
  // Rows that are only in the newer picture, and the place where rows of the older one are gone.
  for (let y = shared; y < aEnd - aStart; y += BLOCK)
    isChanged.fill(1, Math.floor(y / BLOCK) * columns, (Math.floor(y / BLOCK) + 1) * columns);
  if (aEnd === aStart) isChanged.fill(1);
  const found = regionsOf(isChanged, columns, {
    width: after.width,
    top: aStart,
    bottom: Math.max(aEnd, aStart + 1),
  });
  return {
    changed,
    regions: found.map((region) => ({ ...region, y_before: Math.min(bEnd, bStart + region.y - aStart) })),
  };
}

/** The rectangles around changed blocks that touch each other. */
function regionsOf(
  isChanged: Uint8Array,
  columns: number,
  { width, top, bottom }: { width: number; top: number; bottom: number },
): Omit<Region, 'y_before'>[] {
  const regions: Omit<Region, 'y_before'>[] = [];
  const lines = isChanged.length / columns;
  for (let first = 0; first < isChanged.length; first += 1) {
    if (!isChanged[first]) continue;
    let [left, right, start, end] = [columns, 0, lines, 0];
    const open = [first];
    isChanged[first] = 0;
    for (let block = open.pop(); block !== undefined; block = open.pop()) {
      const x = block % columns;
      const y = (block - x) / columns;
      [left, right, start, end] = [
        Math.min(left, x),
        Math.max(right, x),
        Math.min(start, y),
        Math.max(end, y),
      ];
      for (const [dx, dy] of [
        [-1, 0],
        [1, 0],
        [0, -1],
        [0, 1],
      ] as const) {
        const next = (y + dy) * columns + x + dx;
        if (x + dx < 0 || x + dx >= columns || y + dy < 0 || y + dy >= lines || !isChanged[next]) continue;
        isChanged[next] = 0;
        open.push(next);
      }
    }
    const x = left * BLOCK;
    const y = top + start * BLOCK;
    regions.push({
      x,
      y,
      width: Math.max(1, Math.min(width, (right + 1) * BLOCK) - x),
      height: Math.max(1, Math.min(bottom, top + (end + 1) * BLOCK) - y),
    });
  }
  return regions;
}

/** The size of a thumbnail, for screens with two pixels to a point. It shows the upper part of the page. */
const WIDTH = 400;
const HEIGHT = 250;

/**
 * Makes a small image of the upper part of a page's picture. Only that part is decoded, so that a page of 20,000 pixels
 * costs no more than another. Runs in the derive process.
 *
 * @throws NotDerivableError if the picture cannot be read
 */
export async function makeThumbnail(object: ObjectToRead): Promise<{ png: Uint8Array }> {
  const { bytes } = readBody(object, MAX_PICTURE_BYTES);
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const rows = await readUpperRows(file, ({ width }) => Math.ceil((Math.max(width, WIDTH) * HEIGHT) / WIDTH));
  return { png: PNG.sync.write(shrink(rows), { colorType: 2, inputColorType: 6 }) };
}

/** Each pixel of the thumbnail is the mean of those that it stands for. */
function shrink({ width, count, channels, data }: Rows): PNG {
  const scale = Math.max(1, width / WIDTH);
  const columns = Math.min(WIDTH, width);
  const lines = Math.max(1, Math.floor(count / scale));
  const thumbnail = new PNG({ width: columns, height: lines });
  for (let y = 0; y < lines; y += 1) {
    const [top, bottom] = [Math.floor(y * scale), Math.min(count, Math.max(1, Math.floor((y + 1) * scale)))];
    for (let x = 0; x < columns; x += 1) {
      const [left, right] = [Math.floor(x * scale), Math.floor((x + 1) * scale)];
      const pixel = meanOf(data, channels, { width, top, bottom, left, right });
      thumbnail.data.set(pixel, (y * columns + x) * 4);
    }
  }
  return thumbnail;
}

interface Box {
  width: number;
  top: number;
  bottom: number;
  left: number;
  right: number;
}

function meanOf(data: Buffer, channels: number, { width, top, bottom, left, right }: Box): number[] {
  let [red, green, blue, pixels] = [0, 0, 0, 0];
  for (let y = top; y < bottom; y += 1)
    for (let x = left; x < right; x += 1) {
      const at = (y * width + x) * channels;
      red += data[at] ?? 0;
      green += data[at + 1] ?? 0;
      blue += data[at + 2] ?? 0;
      pixels += 1;
    }
  const mean = (sum: number) => Math.round(sum / Math.max(1, pixels));
  return [mean(red), mean(green), mean(blue), 255];
}

/** Stored bytes read of a picture. */
export const MAX_PICTURE_BYTES = 200_000_000;
const MAX_WIDTH = 8_000;
/** A picture of 4,000 by 20,000 pixels. */
const MAX_PIXELS = 80_000_000;

/** The upper rows of a picture. */
export interface Rows {
  width: number;
  /** Of the whole picture. */
  height: number;
  /** The number of rows that are read. */
  count: number;
  /** Bytes of a pixel: 3, or 4 with transparency. */
  channels: number;
  /** The pixels row by row. */
  data: Buffer;
}

/**
 * Reads the upper rows of a PNG as browsers write it: 8 bits to a channel, not interlaced. What is below is not decoded.
 *
 * @param wanted returns how many rows to read, by the size of the picture; all, if they are fewer.
 * @throws NotDerivableError if the picture cannot be read
 */
export async function readUpperRows(
  file: Buffer,
  wanted: (size: { width: number; height: number }) => number,
): Promise<Rows> {
  const [width, height] = file.length > 33 ? [file.readUInt32BE(16), file.readUInt32BE(20)] : [0, 0];
  const channels = { 2: 3, 6: 4 }[file[25] ?? 0];
  if (channels === undefined || file[24] !== 8 || file[28] !== 0 || width === 0 || width > MAX_WIDTH)
    throw new NotDerivableError('unsupported', 'The picture is in no format that pages are kept in.');
  const count = Math.min(height, wanted({ width, height }));
  if (count * width > MAX_PIXELS)
    throw new NotDerivableError('too_large', 'The picture has too many pixels.');
  const filtered = await inflateStart(pixelChunks(file), count * (1 + width * channels));
  return { width, height, count, channels, data: unfilter(filtered, { width, count, channels }) };
}

function* pixelChunks(file: Buffer): Generator<Buffer> {
  for (let at = 8; at + 12 <= file.length; ) {
    const length = file.readUInt32BE(at);
    const type = file.toString('latin1', at + 4, at + 8);
    if (type === 'IDAT') yield file.subarray(at + 8, at + 8 + length);
    at += 12 + length;
  }
}

async function inflateStart(chunks: Iterable<Buffer>, wanted: number): Promise<Buffer> {
  const read: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of Readable.from(chunks).pipe(createInflate()) as AsyncIterable<Buffer>) {
      read.push(chunk);
      length += chunk.length;
      if (length >= wanted) break;
    }
  } catch (error) {
    throw new NotDerivableError('tool_failed', 'The picture cannot be decoded.', error);
  }
  if (length < wanted) throw new NotDerivableError('tool_failed', 'The picture is not complete.');
  return Buffer.concat(read);
}

/** Undoes the filters of the rows (PNG, section 9). */
function unfilter(
  filtered: Buffer,
  { width, count, channels }: Pick<Rows, 'width' | 'count' | 'channels'>,
): Buffer {
  const stride = width * channels;
  const data = Buffer.alloc(count * stride);
  for (let y = 0; y < count; y += 1) {
    const filter = filtered[y * (stride + 1)] ?? 0;
    const from = y * (stride + 1) + 1;
    const row = y * stride;
    for (let x = 0; x < stride; x += 1) {
      const left = x >= channels ? (data[row + x - channels] ?? 0) : 0;
      const up = y > 0 ? (data[row + x - stride] ?? 0) : 0;
      const corner = y > 0 && x >= channels ? (data[row + x - stride - channels] ?? 0) : 0;
      data[row + x] = (filtered[from + x] ?? 0) + predicted(filter, left, up, corner);
    }
  }
  return data;
}

function predicted(filter: number, left: number, up: number, corner: number): number {
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  if (filter !== 4) return 0;
  const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}
