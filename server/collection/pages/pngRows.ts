import { Readable } from 'node:stream';
import { createInflate } from 'node:zlib';
import { NotDerivableError } from '../derived/process/tasks.ts';

/** Stored bytes read of a picture. */
export const MAX_PICTURE_BYTES = 200_000_000;
const MAX_WIDTH = 8_000;
/** A picture of 4,000 by 20,000 pixels. */
export const MAX_PIXELS = 80_000_000;

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
