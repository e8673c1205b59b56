import { PNG } from 'pngjs';
import { readBody } from '../derived/body.ts';
import type { ObjectToRead } from '../derived/process/tasks.ts';
import { MAX_PICTURE_BYTES, type Rows, readUpperRows } from './pngRows.ts';

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
