import jpeg from 'jpeg-js';
import pixelmatch from 'pixelmatch';
import { PNG } from 'pngjs';
import type { ImageParts } from '../../../shared/collection/diff.ts';
import { type ImageHeader, imageHeader } from './imageHeader.ts';

/** Larger images are not decoded: each pixel takes four bytes. */
const MAX_PIXELS = 16_000_000;
const MAX_DECODER_MB = 512;

/** The images cannot be compared by their pixels; the message states why, without a full stop. */
export class UndecodableImageError extends Error {}

/**
 * Compares two images (PNG, JPEG) pixel by pixel. The headers are checked before anything is decoded. For images of
 * different sizes, only the sizes are returned.
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
  if (!header) throw new UndecodableImageError('Images of this format cannot be decoded');
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
    // The decoders throw errors of many classes; all mean that the image is damaged, hostile or unsupported.
    throw new UndecodableImageError('The image is damaged or its encoding is not supported');
  }
  if (image.width !== width || image.height !== height || image.data.length !== width * height * 4) {
    throw new UndecodableImageError('The image does not have the size stated in its header');
  }
  return image.data;
}

/** Counts the pixels that differ and returns the smallest rectangle that contains them. */
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
