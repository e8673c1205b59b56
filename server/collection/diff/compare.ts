import type { Comparison, WordParts } from '../../../shared/diff.ts';
import type { NoiseFindings, NoiseRule } from '../../../shared/noise.ts';
import { isMissing } from '../../store/blobs/blobStore.ts';
import type { MediaKind } from '../derived/mediaKind.ts';
import { NotDerivableError } from '../derived/notDerivable.ts';
import { readBody } from '../derived/readBody.ts';
import type { ObjectToRead } from '../derived/tasks.ts';
import { type Pair, RuleRun } from '../noise/ruleRun.ts';
import { compareBytes } from './bytes.ts';
import { compareImages, UndecodableImageError } from './image.ts';
import { isReadable, readSides, type Sides } from './readSides.ts';
import { REASONS } from './reasons.ts';
import { compareStructure } from './structure.ts';
import { compareTables } from './table.ts';
import { TimeLimitError, withTimeLimit } from './timeLimit.ts';
import { compareWords } from './words.ts';

/** Versions larger than this are compared by their bytes. */
const MOST_MEGABYTES = 33;
/** Comparing structures or tables that were read may take so long. */
const COMPARE_MS = 8_000;

/**
 * Compares two objects by what they are, and by their bytes where they are of different kinds, too large, or cannot be
 * read; the reason is then said. For the worker: it blocks its thread.
 *
 * @throws NotDerivableError `object_missing`, `object_damaged`: bytes that are not what they were are not compared.
 */
export async function compareObjects(
  objects: Pair<ObjectToRead>,
  rules: readonly NoiseRule[],
): Promise<Comparison> {
  const bodies = readBodies(objects);
  if ('reason' in bodies) return compareAsBytes(objects, rules, bodies.reason);
  const { kind, from, to } = bodies;
  try {
    if (kind === 'image') return compareAsImages(from.bytes, to.bytes, rules);
    if (!isReadable(kind)) return await compareAsBytes(objects, rules, REASONS.onlyBytes);
    return compareSides(await readSides(kind, { from, to }, rules));
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === undefined) throw error;
    return compareAsBytes(objects, rules, reason);
  }
}

/**
 * Whether the rules explain all that changed, without the diff itself. For the worker.
 *
 * @throws NotDerivableError `object_missing`, `object_damaged`.
 */
export async function judgeObjects(
  objects: Pair<ObjectToRead>,
  rules: readonly NoiseRule[],
): Promise<NoiseFindings> {
  const bodies = readBodies(objects);
  const unread = () => new RuleRun(rules).findings(false);
  if ('reason' in bodies || !isReadable(bodies.kind)) return unread();
  try {
    const sides = await readSides(bodies.kind, bodies, rules);
    return sides.run.findings(isSame(sides));
  } catch (error) {
    if (reasonOf(error) === undefined) throw error;
    return unread();
  }
}

type Body = { bytes: Uint8Array; contentType: string | null };

/** Both versions decoded, or why they cannot be compared but by their bytes. */
function readBodies(objects: Pair<ObjectToRead>): (Pair<Body> & { kind: MediaKind }) | { reason: string } {
  try {
    const from = readBody(objects.from, MOST_MEGABYTES * 1_000_000);
    const to = readBody(objects.to, MOST_MEGABYTES * 1_000_000);
    if (from.isCut || to.isCut) return { reason: REASONS.tooLarge(MOST_MEGABYTES) };
    if (from.kind !== to.kind) return { reason: REASONS.differentKinds(from.kind, to.kind) };
    return {
      kind: from.kind,
      from: { bytes: from.bytes, contentType: objects.from.contentType },
      to: { bytes: to.bytes, contentType: objects.to.contentType },
    };
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === undefined) throw error;
    return { reason };
  }
}

/** Why an error leaves only the bytes to compare; undefined where it is something else. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof TimeLimitError) return REASONS.tooSlow;
  if (error instanceof UndecodableImageError) return REASONS.asBytes(error.message);
  if (!(error instanceof NotDerivableError)) return undefined;
  if (error.reason === 'object_missing' || error.reason === 'object_damaged') return undefined;
  return REASONS.asBytes(error.message.replace(/\.$/, ''));
}

function compareAsImages(from: Uint8Array, to: Uint8Array, rules: readonly NoiseRule[]): Comparison {
  const parts = compareImages(from, to);
  const { differing_pixels } = parts.summary;
  const reason =
    differing_pixels === null ? REASONS.differentSizes : differing_pixels === 0 ? REASONS.samePixels : null;
  return { kind: 'image', ...parts, truncated: false, reason, noise: new RuleRun(rules).findings(false) };
}

/** @throws NotDerivableError `object_missing`, `object_damaged`. */
export async function compareAsBytes(
  objects: Pair<ObjectToRead>,
  rules: readonly NoiseRule[],
  reason: string,
): Promise<Comparison> {
  const { sha256, ...parts } = await compareBytes(objects.from.file, objects.to.file).catch(
    (error: unknown) => {
      if (isMissing(error))
        throw new NotDerivableError('object_missing', 'The object’s bytes are not held here.');
      throw error;
    },
  );
  if (sha256.from !== objects.from.sha256 || sha256.to !== objects.to.sha256) {
    throw new NotDerivableError('object_damaged', 'The stored bytes no longer hash to the object’s name.');
  }
  return { kind: 'bytes', ...parts, truncated: false, reason, noise: new RuleRun(rules).findings(false) };
}

/** Whether what is left of both versions is the same, as far as all of it was read. */
function isSame(sides: Sides): boolean {
  if (sides.isPart) return false;
  if (sides.kind === 'csv') return JSON.stringify(sides.tables.from) === JSON.stringify(sides.tables.to);
  if (sides.kind !== 'json') return sides.texts.from === sides.texts.to;
  const { summary } = withTimeLimit(COMPARE_MS, () => compareStructure(sides.values.from, sides.values.to));
  return Object.values(summary).every((count) => count === 0);
}

function compareSides(sides: Sides): Comparison {
  const noise = sides.run.findings(isSame(sides));
  const reasonFor = (unchanged: string | null) =>
    sides.reason ??
    (noise.is_noise ? REASONS.allNoise : unchanged) ??
    (sides.isPart ? REASONS.partOnly : null);
  switch (sides.kind) {
    case 'json': {
      const { values } = sides;
      const parts = withTimeLimit(COMPARE_MS, () => compareStructure(values.from, values.to));
      const reason = reasonFor(parts.changes.length === 0 ? REASONS.sameValues : null);
      return { kind: 'json', ...parts, reason, noise };
    }
    case 'csv': {
      const { tables } = sides;
      const parts = withTimeLimit(COMPARE_MS, () => compareTables(tables.from, tables.to));
      const isUnchanged = Object.values(parts.summary).every((count) => count === 0);
      return { kind: 'csv', ...parts, reason: reasonFor(isUnchanged ? REASONS.sameCells : null), noise };
    }
    default: {
      const { kind, texts, isPart } = sides;
      const { coarse, ...parts } = compareWords(
        texts.from,
        texts.to,
        kind === 'pdf' ? pageStarts(texts.to) : undefined,
      );
      const reason = reasonFor(
        coarse ? COARSE[coarse] : isUnchanged(parts) && !isPart ? REASONS.sameText : null,
      );
      return { kind, ...parts, truncated: parts.truncated || isPart, reason, noise };
    }
  }
}

const COARSE = { some_lines: REASONS.someLines, too_different: REASONS.tooDifferent } as const;

function isUnchanged({ summary }: WordParts): boolean {
  return summary.added === 0 && summary.removed === 0;
}

/** The line in which each page begins: pages are parted by form feeds, each in a line of its own. */
function pageStarts(text: string): number[] {
  const starts = [1];
  for (const [index, line] of text.split('\n').entries()) if (line === '\f') starts.push(index + 2);
  return starts;
}
