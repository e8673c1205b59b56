import type { Comparison, ImageParts } from '../../../shared/collection/diff.ts';
import {
  type NoiseFindings,
  type PictureRegion,
  type Scope,
  watchedRegion,
} from '../../../shared/collection/noise.ts';
import { readBody } from '../derived/body.ts';
import type { ObjectToRead } from '../derived/process/tasks.ts';
import { type Pair, RuleRun } from '../noise/ruleRun.ts';
import { MAX_PICTURE_BYTES, type Rows, readUpperRows } from '../pages/pngRows.ts';
import { comparePixels } from './compareBytes.ts';
import { REASONS } from './limits.ts';

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
