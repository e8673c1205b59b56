import { PNG } from 'pngjs';
import type { Region } from '../../../shared/collection/page.ts';
import { readBody } from '../derived/body.ts';
import { NotDerivableError, type ObjectToRead, type PictureComparison } from '../derived/process/tasks.ts';
import { MAX_PICTURE_BYTES, MAX_PIXELS } from './pngRows.ts';

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
