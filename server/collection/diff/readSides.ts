import type { Comparison } from '../../../shared/diff.ts';
import type { NoiseRule } from '../../../shared/noise.ts';
import { decodeText } from '../derived/decodeBody.ts';
import { htmlText } from '../derived/htmlText.ts';
import type { MediaKind } from '../derived/mediaKind.ts';
import { pdfText } from '../derived/pdfText.ts';
import { both, type Pair, RuleRun } from '../noise/ruleRun.ts';
import { parseJson, UncomparableJsonError } from './parseJson.ts';
import { parseTable, type Table, UnreadableTableError } from './parseTable.ts';
import { REASONS } from './reasons.ts';

/** One version, decoded. */
export interface SideBody {
  bytes: Uint8Array;
  contentType: string | null;
}

/** What of two versions is to be compared, with what the rules leave out gone from both. */
export type Sides = (
  | { kind: 'text' | 'html' | 'xml' | 'pdf'; texts: Pair<string> }
  | { kind: 'json'; values: Pair<unknown> }
  | { kind: 'csv'; tables: Pair<Table> }
) & {
  run: RuleRun;
  /** Whether there is more of either version than is compared. */
  isPart: boolean;
  /** Why they are compared as another kind than they are, or null. */
  reason: string | null;
};

type ReadableKind = Exclude<Comparison['kind'], 'bytes' | 'image'>;

/** Whether objects of a kind have something in them to which rules apply. */
export function isReadable(kind: MediaKind): kind is ReadableKind {
  return kind !== 'image' && kind !== 'other';
}

/**
 * Reads two versions of one kind and leaves out of them what the rules name. JSON and CSV that cannot be read as such
 * are taken as plain text.
 *
 * @throws NotDerivableError of a PDF that cannot be read; TimeLimitError.
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
  const texts = both(bodies, ({ bytes, contentType }) =>
    decodeText(bytes, contentType).replace(/\r\n?/g, '\n').toWellFormed(),
  );
  switch (kind) {
    case 'html':
      return readHtml(texts, run);
    case 'xml':
      return readXml(texts, run);
    case 'json':
      return readOr(texts, run, () => ({
        kind,
        values: run.ignoreNodes(both(texts, parseJson)),
      }));
    case 'csv':
      return readOr(texts, run, () => ({ kind, tables: ignoreInCells(run, both(texts, parseTable)) }));
    case 'text':
      return { kind, texts: ignoreInTexts(run, texts), run, isPart: false, reason: null };
  }
}

type Read = { kind: 'json'; values: Pair<unknown> } | { kind: 'csv'; tables: Pair<Table> };

function readOr(texts: Pair<string>, run: RuleRun, read: () => Read): Sides {
  try {
    return { ...read(), run, isPart: false, reason: null };
  } catch (error) {
    if (!(error instanceof UncomparableJsonError) && !(error instanceof UnreadableTableError)) throw error;
    const reason = REASONS.asText(error.message);
    return { kind: 'text', texts: ignoreInTexts(run, texts), run, isPart: false, reason };
  }
}

function readHtml(markup: Pair<string>, run: RuleRun): Sides {
  const found = both(run.ignoreElements(markup, { isXml: false }), htmlText);
  const links = both(found, (page) => (page.links ?? []).map(({ href }) => `→ ${href}`).join('\n'));
  // Where links lead is part of what a page says; it is only shown where it differs.
  const haveOtherLinks = links.from !== links.to;
  const texts = {
    from: haveOtherLinks ? `${found.from.text}\n\n${links.from}` : found.from.text,
    to: haveOtherLinks ? `${found.to.text}\n\n${links.to}` : found.to.text,
  };
  return {
    kind: 'html',
    texts: ignoreInTexts(run, texts),
    run,
    isPart: found.from.truncated || found.to.truncated,
    reason: null,
  };
}

/** XML is compared as it is written, with each tag in a line of its own. */
function readXml(markup: Pair<string>, run: RuleRun): Sides {
  const left = run.ignoreElements(markup, { isXml: true });
  const texts = both(left, (text) => text.replace(/>\s*</g, '>\n<'));
  return { kind: 'xml', texts: ignoreInTexts(run, texts), run, isPart: false, reason: null };
}

function ignoreInTexts(run: RuleRun, texts: Pair<string>): Pair<string> {
  return both(run.ignoreMatches(both(texts, (text) => [text])), ([text = '']) => text);
}

function ignoreInCells(run: RuleRun, tables: Pair<Table>): Pair<Table> {
  const cells = run.ignoreMatches(both(tables, ({ rows }) => rows.flat()));
  const refill = ({ header, rows }: Table, texts: readonly string[]): Table => {
    let next = 0;
    return { header, rows: rows.map((row) => row.map((cell) => texts[next++] ?? cell)) };
  };
  return { from: refill(tables.from, cells.from), to: refill(tables.to, cells.to) };
}
