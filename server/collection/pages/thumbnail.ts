import { Readable } from 'node:stream';
import { createInflate } from 'node:zlib';
import { PNG } from 'pngjs';
import { readBody } from '../derived/body.ts';
import { NotDerivableError, type ObjectToRead } from '../derived/process/tasks.ts';

/** The size of a thumbnail, for screens with two pixels to a point. It shows the upper part of the page. */
const WIDTH = 400;
const HEIGHT = 250;
const MAX_PICTURE_BYTES = 200_000_000;
const MAX_WIDTH = 8_000;

interface Rows {
  width: number;
  /** The number of rows that are read. */
  count: number;
  /** Bytes of a pixel: 3, or 4 with transparency. */
  channels: number;
  /** The pixels row by row. */
  data: Buffer;
}

/**
 * Makes a small image of the upper part of a page's picture. Only that part is decoded, so that a page of 20,000 pixels
 * costs no more than another. Runs in the derive process.
 *
 * @throws NotDerivableError if the picture cannot be read
 */
export async function makeThumbnail(object: ObjectToRead): Promise<{ png: Uint8Array }> {
  const { bytes } = readBody(object, MAX_PICTURE_BYTES);
  const rows = await readUpperRows(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  return { png: PNG.sync.write(shrink(rows), { colorType: 2, inputColorType: 6 }) };
}

/** Reads a PNG as browsers write it: 8 bits to a channel, not interlaced. */
async function readUpperRows(file: Buffer): Promise<Rows> {
  const [width, height] = file.length > 33 ? [file.readUInt32BE(16), file.readUInt32BE(20)] : [0, 0];
  const channels = { 2: 3, 6: 4 }[file[25] ?? 0];
  if (channels === undefined || file[24] !== 8 || file[28] !== 0 || width === 0 || width > MAX_WIDTH)
    throw new NotDerivableError('unsupported', 'The picture is in no format that pages are kept in.');
  const count = Math.min(height, Math.ceil((Math.max(width, WIDTH) * HEIGHT) / WIDTH));
  const filtered = await inflateStart(pixelChunks(file), count * (1 + width * channels));
  return { width, count, channels, data: unfilter(filtered, { width, count, channels }) };
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
function unfilter(filtered: Buffer, { width, count, channels }: Omit<Rows, 'data'>): Buffer {
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
