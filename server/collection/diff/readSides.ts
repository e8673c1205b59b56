import type { Comparison } from '../../../shared/collection/diff.ts';
import type { NoiseRule } from '../../../shared/collection/noise.ts';
import { decodeText } from '../derived/body/decodeBody.ts';
import type { MediaKind } from '../derived/body/mediaKind.ts';
import { htmlText } from '../derived/extract/htmlText.ts';
import { pdfText } from '../derived/extract/pdfText.ts';
import { mapPair, type Pair, RuleRun } from '../noise/ruleRun.ts';
import { parseJson, UncomparableJsonError } from './parseJson.ts';
import { parseTable, type Table, UnreadableTableError } from './parseTable.ts';
import { REASONS } from './reasons.ts';

/** One version, decoded. */
export interface SideBody {
  bytes: Uint8Array;
  contentType: string | null;
}

/** The parts of two versions to be compared, without those that the noise rules ignore. */
export type Sides = (
  | { kind: 'text' | 'html' | 'xml' | 'pdf'; texts: Pair<string> }
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
export function isReadable(kind: MediaKind): kind is ReadableKind {
  return kind !== 'image' && kind !== 'other';
}

/**
 * Reads two versions of one kind and removes the parts that the rules match. JSON and CSV that cannot be parsed are read
 * as plain text.
 *
 * @throws NotDerivableError if a PDF cannot be read; TimeLimitError.
 */
export async function readSides(
  kind: ReadableKind,
  bodies: Pair<SideBody>,
  rules: readonly NoiseRule[],
): Promise<Sides> {
  const run = new RuleRun(rules);
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
        values: run.ignoreNodes(mapPair(texts, parseJson)),
      }));
    case 'csv':
      return readOrAsText(texts, run, () => ({
        kind,
        tables: ignoreInCells(run, {
          from: parseTable(texts.from, bodies.from.contentType),
          to: parseTable(texts.to, bodies.to.contentType),
        }),
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
  const found = mapPair(run.ignoreElements(markup, { isXml: false }), htmlText);
  const links = mapPair(found, (page) => (page.links ?? []).map(({ href }) => `→ ${href}`).join('\n'));
  // Link targets are part of a page's content; they are appended only if they differ.
  const linksDiffer = links.from !== links.to;
  const texts = {
    from: linksDiffer ? `${found.from.text}\n\n${links.from}` : found.from.text,
    to: linksDiffer ? `${found.to.text}\n\n${links.to}` : found.to.text,
  };
  return {
    kind: 'html',
    texts: ignoreInTexts(run, texts),
    run,
    isPart: found.from.truncated || found.to.truncated,
    reason: null,
  };
}

/** XML is compared as source, with each tag on its own line. */
function readXml(markup: Pair<string>, run: RuleRun): Sides {
  const left = run.ignoreElements(markup, { isXml: true });
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
