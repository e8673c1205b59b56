import { isUnconditional } from '../../../shared/alerts/alert.ts';
import type { Comparison } from '../../../shared/collection/diff.ts';
import type { NoiseFindings, Scope } from '../../../shared/collection/noise.ts';
import { isMissing } from '../../store/blobs/blobStore.ts';
import { decodeText, readBody } from '../derived/body.ts';
import { pdfText } from '../derived/extract/extractText.ts';
import { htmlText } from '../derived/extract/markup.ts';
import { MAX_DIFF_MEGABYTES, REASONS, TimeLimitError, withTimeLimit } from '../derived/limits.ts';
import type { MediaKind } from '../derived/mediaKind.ts';
import {
  type ConditionsTask,
  NotDerivableError,
  type ObjectToRead,
  type WatchedResult,
  type WatchedTask,
} from '../derived/process/tasks.ts';
import { mapPair, type Pair, RuleRun } from '../noise/ruleRun.ts';
import {
  compareBytes,
  compareImages,
  comparisonOfRegion,
  readWatchedRegion,
  UndecodableImageError,
} from './compareBytes.ts';
import { compareStructure, parseJson, UncomparableJsonError } from './compareStructure.ts';
import { compareTables, parseTable, type Table, UnreadableTableError } from './compareTables.ts';
import { compareWords } from './compareWords.ts';

/** Time limit for comparing parsed structures or tables. */
const COMPARE_MS = 8_000;

/**
 * Compares two objects by their kind. Objects of different kinds, too large or unreadable are compared by their bytes,
 * and the reason is stated. Blocks its thread; runs in the derive process.
 *
 * @returns also how many pages each version of a PDF has
 * @throws NotDerivableError `object_missing`, `object_damaged`: altered bytes are not compared.
 */
export async function compareWithPages(
  objects: Pair<ObjectToRead>,
  scope: Scope,
): Promise<{ comparison: Comparison; pages: Pair<number> | null }> {
  const asBytes = async (reason: string) => ({
    comparison: await compareAsBytes(objects, scope, reason),
    pages: null,
  });
  try {
    const pictures = await readWatchedRegion(objects, scope);
    const region = pictures && comparisonOfRegion(pictures);
    if (region) return { comparison: region, pages: null };
    const bodies = readBodies(objects);
    if ('reason' in bodies) return await asBytes(bodies.reason);
    const { kind, from, to } = bodies;
    if (kind === 'image') {
      const noise = pictures?.findings ?? new RuleRun(scope).findings(false);
      return { comparison: compareAsImages(from.bytes, to.bytes, noise), pages: null };
    }
    if (!isReadable(kind)) return await asBytes(REASONS.onlyBytes);
    const sides = await readSides(kind, { from, to }, scope);
    const pages = sides.kind === 'pdf' ? mapPair(sides.texts, (text) => pageStarts(text).length) : null;
    return { comparison: compareSides(sides), pages };
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === undefined) throw error;
    return asBytes(reason);
  }
}

/**
 * Returns whether the rules and the watched part leave nothing of a change, without making a diff. Runs in the derive process.
 *
 * @throws NotDerivableError `object_missing`, `object_damaged`.
 */
export async function judgeObjects(objects: Pair<ObjectToRead>, scope: Scope): Promise<NoiseFindings> {
  const unread = () => new RuleRun(scope).findings(false);
  try {
    const pictures = await readWatchedRegion(objects, scope);
    if (pictures) return pictures.findings;
    const bodies = readBodies(objects);
    if ('reason' in bodies || !isReadable(bodies.kind)) return unread();
    const sides = await readSides(bodies.kind, bodies, scope);
    return sides.run.findings(isSame(sides));
  } catch (error) {
    if (reasonOf(error) === undefined) throw error;
    return unread();
  }
}

/**
 * Returns whether a change, or a first version, meets conditions within what is watched. What is noise or outside does not.
 * What has no text meets none. Runs in the derive process.
 *
 * @throws NotDerivableError `object_missing`, `object_damaged`.
 */
export async function checkObjects({
  isFirst,
  scope,
  conditions,
  ...objects
}: ConditionsTask): Promise<boolean> {
  try {
    const pictures = await readWatchedRegion(objects, scope);
    // A picture has neither words nor numbers.
    if (pictures) return (isFirst || !pictures.findings.is_noise) && isUnconditional(conditions);
    const bodies = readBodies(objects);
    if ('reason' in bodies || !isReadable(bodies.kind)) return isUnconditional(conditions);
    const sides = await readSides(bodies.kind, bodies, scope);
    if (!isFirst && sides.run.findings(isSame(sides)).is_noise) return false;
    const { from, to } = textsOf(sides);
    const shown = sides.kind === 'html' ? sides.shown : { from, to };
    // Loaded with the first condition, because the tables of Unicode are large.
    const { meetsConditions } = await import('../noise/conditions.ts');
    return meetsConditions(conditions, {
      from: isFirst ? null : from,
      to,
      shown: { from: isFirst ? '' : shown.from, to: shown.to },
    });
  } catch (error) {
    if (reasonOf(error) === undefined) throw error;
    // What takes too long is not known, and an extra alert is better than a missing one.
    return error instanceof TimeLimitError || isUnconditional(conditions);
  }
}

/** The text of the watched part that a preview shows. */
const MAX_EXCERPT = 600;

/**
 * Finds what is watched of one version. Runs in the derive process.
 *
 * @throws NotDerivableError `object_missing`, `object_damaged`.
 */
export async function readWatched({ object, scope }: WatchedTask): Promise<WatchedResult> {
  const objects = { from: object, to: object };
  const unread = (noise = new RuleRun(scope).findings(false)): WatchedResult => ({
    watch: noise.watch,
    text: null,
  });
  try {
    const pictures = await readWatchedRegion(objects, scope);
    if (pictures) return unread(pictures.findings);
    const bodies = readBodies(objects);
    if ('reason' in bodies || !isReadable(bodies.kind)) return unread();
    const sides = await readSides(bodies.kind, bodies, scope);
    const text = textsOf(sides).to.trim();
    return {
      watch: sides.run.findings(true).watch,
      text: text.length > MAX_EXCERPT ? `${text.slice(0, MAX_EXCERPT).toWellFormed()}…` : text,
    };
  } catch (error) {
    if (reasonOf(error) === undefined) throw error;
    return unread();
  }
}

/** Returns what is compared as text: of JSON the values, of a table the cells below the header. */
function textsOf(sides: Sides): Pair<string> {
  if (sides.kind === 'json') return mapPair(sides.values, (value) => leavesOf(value).join('\n'));
  if (sides.kind === 'csv')
    return mapPair(sides.tables, ({ rows }) => rows.map((cells) => cells.join(' | ')).join('\n'));
  return sides.texts;
}

function leavesOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return [JSON.stringify(value)];
  return Object.values(value).flatMap(leavesOf);
}

type Body = { bytes: Uint8Array; contentType: string | null };

/** Decodes both versions, or returns why only their bytes can be compared. */
function readBodies(objects: Pair<ObjectToRead>): (Pair<Body> & { kind: MediaKind }) | { reason: string } {
  try {
    const from = readBody(objects.from, MAX_DIFF_MEGABYTES * 1_000_000);
    const to = readBody(objects.to, MAX_DIFF_MEGABYTES * 1_000_000);
    if (from.isCut || to.isCut) return { reason: REASONS.tooLarge(MAX_DIFF_MEGABYTES) };
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

/** Returns why only the bytes can be compared after this error; undefined if the error is unexpected. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof TimeLimitError) return REASONS.tooSlow;
  if (error instanceof UndecodableImageError) return REASONS.asBytes(error.message);
  if (!(error instanceof NotDerivableError)) return undefined;
  if (error.reason === 'object_missing' || error.reason === 'object_damaged') return undefined;
  return REASONS.asBytes(error.message.replace(/\.$/, ''));
}

function compareAsImages(from: Uint8Array, to: Uint8Array, noise: NoiseFindings): Comparison {
  const parts = compareImages(from, to);
  const { differing_pixels } = parts.summary;
  const reason =
    differing_pixels === null ? REASONS.differentSizes : differing_pixels === 0 ? REASONS.samePixels : null;
  return { kind: 'image', ...parts, truncated: false, reason, noise };
}

/** @throws NotDerivableError `object_missing`, `object_damaged`. */
export async function compareAsBytes(
  objects: Pair<ObjectToRead>,
  scope: Scope,
  reason: string,
): Promise<Comparison> {
  const { sha256, ...parts } = await compareBytes(objects.from.file, objects.to.file).catch(
    (error: unknown) => {
      if (isMissing(error)) throw new NotDerivableError('object_missing', 'The object’s bytes are missing.');
      throw error;
    },
  );
  if (sha256.from !== objects.from.sha256 || sha256.to !== objects.to.sha256) {
    throw new NotDerivableError('object_damaged', 'The object’s stored bytes no longer match its digest.');
  }
  return { kind: 'bytes', ...parts, truncated: false, reason, noise: new RuleRun(scope).findings(false) };
}

/** Returns whether both versions are the same without the ignored parts. False if either was not read completely. */
function isSame(sides: Sides): boolean {
  if (sides.isPart) return false;
  if (sides.kind === 'csv') return isSameTable(sides.tables);
  if (sides.kind === 'json') return isUnchanged(structureOf(sides.values));
  return sides.texts.from === sides.texts.to;
}

function isSameTable({ from, to }: Pair<Table>): boolean {
  return JSON.stringify(from) === JSON.stringify(to);
}

function structureOf({ from, to }: Pair<unknown>) {
  return withTimeLimit(COMPARE_MS, () => compareStructure(from, to));
}

function isUnchanged({ summary }: { summary: Record<string, unknown> }): boolean {
  return Object.values(summary).every((count) => typeof count !== 'number' || count === 0);
}

function compareSides(sides: Sides): Comparison {
  switch (sides.kind) {
    case 'json': {
      const parts = structureOf(sides.values);
      const isEmpty = isUnchanged(parts);
      return { kind: 'json', ...parts, ...remarks(sides, isEmpty, isEmpty ? REASONS.sameValues : null) };
    }
    case 'csv': {
      const { from, to } = sides.tables;
      const parts = withTimeLimit(COMPARE_MS, () => compareTables(from, to));
      const isSame = isSameTable(sides.tables);
      const same = isSame ? REASONS.sameCells : REASONS.sameCellsElsewhere;
      return { kind: 'csv', ...parts, ...remarks(sides, isSame, isUnchanged(parts) ? same : null) };
    }
    default: {
      const { kind, texts, isPart } = sides;
      const pages = kind === 'pdf' ? pageStarts(texts.to) : undefined;
      const { coarse, ...parts } = compareWords(texts.from, texts.to, pages);
      const unchanged = isUnchanged(parts) && !isPart ? REASONS.sameText : null;
      return {
        kind,
        ...parts,
        truncated: parts.truncated || isPart,
        ...remarks(sides, !isPart && texts.from === texts.to, coarse ? COARSE[coarse] : unchanged),
      };
    }
  }
}

/** Returns the most important reason why the comparison is limited or empty, and the findings of the rules. */
function remarks(sides: Sides, isSame: boolean, reason: string | null): Pick<Comparison, 'reason' | 'noise'> {
  const noise = sides.run.findings(isSame);
  const mainReason =
    sides.reason ?? (noise.outside ? REASONS.allOutside : noise.is_noise ? REASONS.allNoise : reason);
  return { reason: mainReason ?? (sides.isPart ? REASONS.partOnly : null), noise };
}

const COARSE = { some_lines: REASONS.someLines, too_different: REASONS.tooDifferent } as const;

/** Returns the line in which each page begins. Pages are separated by a line with a form feed. */
function pageStarts(text: string): number[] {
  const starts = [1];
  for (const [index, line] of text.split('\n').entries()) if (line === '\f') starts.push(index + 2);
  return starts;
}

/** One version, decoded. */
interface SideBody {
  bytes: Uint8Array;
  contentType: string | null;
}

/** The parts of two versions to be compared: what is watched, without what the noise rules ignore. */
type Sides = (
  | { kind: 'text' | 'xml' | 'pdf'; texts: Pair<string> }
  /** `shown` is the text without the targets of links. */
  | { kind: 'html'; texts: Pair<string>; shown: Pair<string> }
  | { kind: 'json'; values: Pair<unknown> }
  | { kind: 'csv'; tables: Pair<Table> }
) & {
  run: RuleRun;
  /** Whether only a part of either version is compared. */
  isPart: boolean;
  /** Why they are compared as another kind, or null. */
  reason: string | null;
};

type ReadableKind = Exclude<Comparison['kind'], 'bytes' | 'image'>;

/** Returns whether objects of a kind have content that rules apply to. */
function isReadable(kind: MediaKind): kind is ReadableKind {
  return kind !== 'image' && kind !== 'other';
}

/**
 * Reads two versions of one kind and removes what is not watched, and the parts that the rules match. JSON and CSV that
 * cannot be parsed are read as plain text.
 *
 * @throws NotDerivableError if a PDF cannot be read; TimeLimitError.
 */
async function readSides(kind: ReadableKind, bodies: Pair<SideBody>, scope: Scope): Promise<Sides> {
  const run = new RuleRun(scope);
  if (kind === 'pdf') {
    const [from, to] = [await pdfText(bodies.from.bytes), await pdfText(bodies.to.bytes)];
    const texts = ignoreInTexts(run, { from: from.text, to: to.text });
    return { kind, texts, run, isPart: from.truncated || to.truncated, reason: null };
  }
  const texts = mapPair(bodies, ({ bytes, contentType }) =>
    decodeText(bytes, contentType).replace(/\r\n?/g, '\n').toWellFormed(),
  );
  switch (kind) {
    case 'html':
      return readHtml(texts, run);
    case 'xml':
      return readXml(texts, run);
    case 'json':
      return readOrAsText(texts, run, () => ({
        kind,
        values: run.readValues(mapPair(texts, parseJson)),
      }));
    case 'csv':
      return readOrAsText(texts, run, () => ({
        kind,
        tables: ignoreInCells(
          run,
          run.readTables({
            from: parseTable(texts.from, bodies.from.contentType),
            to: parseTable(texts.to, bodies.to.contentType),
          }),
        ),
      }));
    case 'text':
      return { kind, texts: ignoreInTexts(run, texts), run, isPart: false, reason: null };
  }
}

type Read = { kind: 'json'; values: Pair<unknown> } | { kind: 'csv'; tables: Pair<Table> };

function readOrAsText(texts: Pair<string>, run: RuleRun, read: () => Read): Sides {
  try {
    return { ...read(), run, isPart: false, reason: null };
  } catch (error) {
    if (!(error instanceof UncomparableJsonError) && !(error instanceof UnreadableTableError)) throw error;
    const reason = REASONS.asText(error.message);
    return { kind: 'text', texts: ignoreInTexts(run, texts), run, isPart: false, reason };
  }
}

function readHtml(markup: Pair<string>, run: RuleRun): Sides {
  const found = mapPair(run.readMarkup(markup, { isXml: false }), htmlText);
  const links = mapPair(found, (page) => (page.links ?? []).map(({ href }) => `→ ${href}`).join('\n'));
  const pieces = run.ignoreMatches({
    // Link targets are part of a page's content; they are appended only if they differ.
    from: links.from === links.to ? [found.from.text] : [found.from.text, links.from],
    to: links.from === links.to ? [found.to.text] : [found.to.text, links.to],
  });
  return {
    kind: 'html',
    texts: mapPair(pieces, (parts) => parts.join('\n\n')),
    shown: mapPair(pieces, ([text = '']) => text),
    run,
    isPart: found.from.truncated || found.to.truncated,
    reason: null,
  };
}

/** XML is compared as source, with each tag on its own line. */
function readXml(markup: Pair<string>, run: RuleRun): Sides {
  const left = run.readMarkup(markup, { isXml: true });
  const texts = mapPair(left, (text) => text.replace(/>\s*</g, '>\n<'));
  return { kind: 'xml', texts: ignoreInTexts(run, texts), run, isPart: false, reason: null };
}

function ignoreInTexts(run: RuleRun, texts: Pair<string>): Pair<string> {
  return mapPair(run.ignoreMatches(mapPair(texts, (text) => [text])), ([text = '']) => text);
}

function ignoreInCells(run: RuleRun, tables: Pair<Table>): Pair<Table> {
  const cells = run.ignoreMatches(mapPair(tables, ({ rows }) => rows.flat()));
  const refill = ({ header, rows }: Table, texts: readonly string[]): Table => {
    let next = 0;
    return { header, rows: rows.map((row) => row.map((cell) => texts[next++] ?? cell)) };
  };
  return { from: refill(tables.from, cells.from), to: refill(tables.to, cells.to) };
}
