import jpeg from 'jpeg-js';
import pixelmatch from 'pixelmatch';
import { PNG } from 'pngjs';
import type { ImageParts } from '../../../shared/diff.ts';
import { type ImageHeader, imageHeader } from './imageHeader.ts';

/** Images of more pixels are not decoded: each pixel takes four bytes of each. */
const MAX_PIXELS = 16_000_000;
const MAX_DECODER_MB = 512;

/** The two are not images that can be compared by their pixels; the message says why. */
export class UndecodableImageError extends Error {}

/**
 * Compares two images (PNG, JPEG) pixel by pixel. What their headers say is read before anything is decoded. Images of
 * different sizes are told by their sizes alone.
 *
 * @throws UndecodableImageError
 */
export function compareImages(from: Uint8Array, to: Uint8Array): ImageParts {
  const [left, right] = [headerOf(from), headerOf(to)];
  const size = { from: sizeOf(left), to: sizeOf(right) };
  if (left.width !== right.width || left.height !== right.height) {
    return { summary: { differing_pixels: null, visible_pixels: null, share: null }, size, box: null };
  }
  const { width, height } = left;
  if (width * height > MAX_PIXELS) {
    throw new UndecodableImageError(`The images have more than ${MAX_PIXELS / 1_000_000} million pixels`);
  }
  const pixels = { from: decode(from, left), to: decode(to, right) };
  const { count, box } = differences(pixels.from, pixels.to, width);
  const visible = count === 0 ? 0 : pixelmatch(pixels.from, pixels.to, undefined, width, height);
  return {
    summary: { differing_pixels: count, visible_pixels: visible, share: count / (width * height) },
    size,
    box,
  };
}

function sizeOf({ width, height }: ImageHeader) {
  return { width, height };
}

function headerOf(bytes: Uint8Array): ImageHeader {
  const header = imageHeader(bytes);
  if (!header) throw new UndecodableImageError('Images of this kind are not decoded here');
  return header;
}

/** RGBA, eight bits each. */
function decode(bytes: Uint8Array, { format, width, height }: ImageHeader): Uint8Array {
  let image: { width: number; height: number; data: Uint8Array };
  try {
    image =
      format === 'png'
        ? PNG.sync.read(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
        : jpeg.decode(bytes, {
            useTArray: true,
            formatAsRGBA: true,
            maxResolutionInMP: MAX_PIXELS / 1_000_000,
            maxMemoryUsageInMB: MAX_DECODER_MB,
          });
  } catch {
    // Both decoders throw whatever they stumble upon; a hostile or cut image is no fault of ours.
    throw new UndecodableImageError('The image is damaged, or written in a way that is not understood here');
  }
  if (image.width !== width || image.height !== height || image.data.length !== width * height * 4) {
    throw new UndecodableImageError('The image has another size than its header says');
  }
  return image.data;
}

/** How many pixels differ in anything, and the least rectangle that holds them. */
function differences(
  left: Uint8Array,
  right: Uint8Array,
  width: number,
): { count: number; box: ImageParts['box'] } {
  const [one, other] = [pixelsOf(left), pixelsOf(right)];
  let count = 0;
  let [top, bottom, start, end] = [-1, -1, width, -1];
  for (let at = 0; at < one.length; at += 1) {
    if (one[at] === other[at]) continue;
    count += 1;
    const x = at % width;
    const y = (at - x) / width;
    if (top === -1) top = y;
    bottom = y;
    if (x < start) start = x;
    if (x > end) end = x;
  }
  const box = count === 0 ? null : { x: start, y: top, width: end - start + 1, height: bottom - top + 1 };
  return { count, box };
}

/** Each pixel as one number. */
function pixelsOf(bytes: Uint8Array): Uint32Array {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : Uint8Array.from(bytes);
  return new Uint32Array(aligned.buffer, aligned.byteOffset, aligned.length / 4);
}
