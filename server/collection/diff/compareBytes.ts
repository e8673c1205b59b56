import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import jpeg from 'jpeg-js';
import pixelmatch from 'pixelmatch';
import { PNG } from 'pngjs';
import type { ByteParts, Comparison, ImageParts } from '../../../shared/collection/diff.ts';
import {
  type NoiseFindings,
  type PictureRegion,
  type Scope,
  watchedRegion,
} from '../../../shared/collection/noise.ts';
import { readBody } from '../derived/body.ts';
import { REASONS } from '../derived/limits.ts';
import type { ObjectToRead } from '../derived/process/tasks.ts';
import { type Pair, RuleRun } from '../noise/ruleRun.ts';
import { MAX_PICTURE_BYTES, type Rows, readUpperRows } from '../pages/pictures.ts';

const PIECE = 1_048_576;
/** Bytes shown before the first difference, and from it on. */
const BEFORE = 16;
const AFTER = 48;

/** The result of comparing two files byte by byte, with their SHA-256 digests. */
interface ByteComparison extends ByteParts {
  sha256: { from: string; to: string };
}

/**
 * Compares two whole files byte by byte, a piece at a time, so memory use does not depend on their size. Hashes both, so
 * that the caller can verify them.
 *
 * @throws the file system's error if a file cannot be read.
 */
export async function compareBytes(from: string, to: string, signal?: AbortSignal): Promise<ByteComparison> {
  const left = await open(from);
  try {
    const right = await open(to);
    try {
      return await compareHandles(left, right, signal);
    } finally {
      await right.close();
    }
  } finally {
    await left.close();
  }
}

async function compareHandles(
  left: FileHandle,
  right: FileHandle,
  signal: AbortSignal | undefined,
): Promise<ByteComparison> {
  const hashes = { from: createHash('sha256'), to: createHash('sha256') };
  const pieces = { from: Buffer.allocUnsafe(PIECE), to: Buffer.allocUnsafe(PIECE) };
  const lengths = { from: 0, to: 0 };
  let first: number | null = null;
  for (;;) {
    signal?.throwIfAborted();
    const offset = lengths.from;
    const [one, other] = await Promise.all([
      fill(left, pieces.from, lengths.from),
      fill(right, pieces.to, lengths.to),
    ]);
    if (one.length === 0 && other.length === 0) break;
    hashes.from.update(one);
    hashes.to.update(other);
    if (first === null && !one.equals(other)) first = offset + firstDifference(one, other);
    lengths.from += one.length;
    lengths.to += other.length;
  }
  return {
    summary: { length_change: lengths.to - lengths.from, first_difference: first },
    around: first === null ? null : await around(left, right, Math.max(0, first - BEFORE), first + AFTER),
    sha256: { from: hashes.from.digest('hex'), to: hashes.to.digest('hex') },
  };
}

/** Fills the buffer; reads less only at the end of the file. */
async function fill(handle: FileHandle, buffer: Buffer, position: number): Promise<Buffer> {
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

function firstDifference(left: Buffer, right: Buffer): number {
  const length = Math.min(left.length, right.length);
  // A binary search with native comparisons is much faster than a loop over all bytes.
  let start = 0;
  let end = length;
  while (end - start > 64) {
    const middle = (start + end) >> 1;
    if (left.compare(right, start, middle, start, middle) === 0) start = middle;
    else end = middle;
  }
  while (start < length && left[start] === right[start]) start += 1;
  return start;
}

async function around(
  left: FileHandle,
  right: FileHandle,
  offset: number,
  end: number,
): Promise<ByteParts['around']> {
  const read = async (handle: FileHandle) =>
    (await fill(handle, Buffer.allocUnsafe(end - offset), offset)).toString('hex');
  return { offset, from: await read(left), to: await read(right) };
}

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
  return { ...comparePixels({ from: decode(from, left), to: decode(to, right) }, { width, height }), size };
}

/**
 * Compares the pixels of two images of one size. Visibly different are those whose colours a person tells apart and which
 * are not only edges that were smoothed otherwise (pixelmatch with its defaults).
 *
 * @param pixels RGBA, eight bits each
 */
function comparePixels(
  pixels: { from: Uint8Array; to: Uint8Array },
  { width, height }: { width: number; height: number },
): Pick<ImageParts, 'summary' | 'box'> {
  const { count, box } = differences(pixels.from, pixels.to, width);
  const visible = count === 0 ? 0 : pixelmatch(pixels.from, pixels.to, undefined, width, height);
  return {
    summary: { differing_pixels: count, visible_pixels: visible, share: count / (width * height) },
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

/** The header of an image, read without decoding the image. */
interface ImageHeader {
  format: 'png' | 'jpeg';
  width: number;
  height: number;
}

/** Reads the header of a PNG (specification, 11.2.1) or a JPEG (ITU T.81, B.2.2); undefined for other formats. */
function imageHeader(bytes: Uint8Array): ImageHeader | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return pngHeader(view) ?? jpegHeader(view);
}

const PNG_SIGNATURE = 0x8950_4e47_0d0a_1a0an;
const IHDR = 0x4948_4452;

function pngHeader(view: DataView): ImageHeader | undefined {
  if (view.byteLength < 24 || view.getBigUint64(0) !== PNG_SIGNATURE || view.getUint32(12) !== IHDR)
    return undefined;
  return imageHeaderOf('png', view.getUint32(16), view.getUint32(20));
}

function jpegHeader(view: DataView): ImageHeader | undefined {
  if (view.byteLength < 4 || view.getUint16(0) !== 0xffd8) return undefined;
  let at = 2;
  while (at + 9 < view.byteLength && view.getUint8(at) === 0xff) {
    const marker = view.getUint8(at + 1);
    // Fill bytes may precede a marker; a few markers have no segment.
    if (marker === 0xff) at += 1;
    else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) at += 2;
    else if (isFrame(marker)) return imageHeaderOf('jpeg', view.getUint16(at + 7), view.getUint16(at + 5));
    else at += 2 + view.getUint16(at + 2);
  }
  return undefined;
}

/** SOF0 to SOF15; DHT, JPG and DAC lie between them. */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}

function imageHeaderOf(
  format: ImageHeader['format'],
  width: number,
  height: number,
): ImageHeader | undefined {
  return width > 0 && height > 0 ? { format, width, height } : undefined;
}

/** Two pictures of a page of which a region is watched. */
interface WatchedRegion {
  findings: NoiseFindings;
  /** How the region differs; null if it is not in both pictures. */
  parts: ImageParts | null;
}

/**
 * Compares the watched region of two pictures of a page. Its place is fixed: what moved into it or out of it is a
 * difference. Edges that were smoothed otherwise and shades that nobody sees are none. Returns undefined if no region is
 * watched, or if these are no pictures. Blocks its thread; runs in the derive process.
 *
 * @throws NotDerivableError if a picture cannot be read
 */
export async function readWatchedRegion(
  objects: Pair<ObjectToRead>,
  scope: Scope,
): Promise<WatchedRegion | undefined> {
  const region = watchedRegion(scope.watch);
  if (!region || !isPng(objects.from) || !isPng(objects.to)) return undefined;
  const isOne = objects.from.sha256 === objects.to.sha256;
  const from = await readRegion(objects.from, region);
  const to = isOne ? from : await readRegion(objects.to, region);
  const run = new RuleRun(scope);
  run.foundRegion({ from: from !== undefined, to: to !== undefined });
  if (!from || !to) return { findings: run.findings(false), parts: null };
  const size = { width: region.width, height: region.height };
  const parts = { ...comparePixels({ from, to }, size), size: { from: size, to: size }, region };
  return { findings: run.findings(parts.summary.visible_pixels === 0), parts };
}

/** Returns the comparison of a region; undefined if it is not in both pictures. */
export function comparisonOfRegion({ findings, parts }: WatchedRegion): Comparison | undefined {
  if (!parts) return undefined;
  const reason = findings.outside ? REASONS.allOutside : null;
  return { kind: 'image', ...parts, truncated: false, reason, noise: findings };
}

function isPng({ contentType }: ObjectToRead): boolean {
  return /^image\/png\b/i.test(contentType ?? '');
}

/** Returns the pixels of a region as RGBA; undefined if the picture does not reach all of it. */
async function readRegion(object: ObjectToRead, region: PictureRegion): Promise<Uint8Array | undefined> {
  const { bytes } = readBody(object, MAX_PICTURE_BYTES);
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const reaches = ({ width, height }: { width: number; height: number }) =>
    region.x + region.width <= width && region.y + region.height <= height;
  const rows = await readUpperRows(file, (size) => (reaches(size) ? region.y + region.height : 1));
  return reaches(rows) ? cut(rows, region) : undefined;
}

function cut({ width, channels, data }: Rows, region: PictureRegion): Uint8Array {
  const pixels = new Uint8Array(region.width * region.height * 4).fill(255);
  for (let y = 0; y < region.height; y += 1)
    for (let x = 0; x < region.width; x += 1) {
      const from = ((region.y + y) * width + region.x + x) * channels;
      const to = (y * region.width + x) * 4;
      for (let channel = 0; channel < channels; channel += 1)
        pixels[to + channel] = data[from + channel] ?? 0;
    }
  return pixels;
}
