import { countOf, formatCount } from '../values/counts.ts';
import type { AnyDiff, Hunk } from './diff.ts';

type OfKind<Kind extends AnyDiff['kind']> = Extract<AnyDiff, { kind: Kind }>;
type WordsDiff = OfKind<'text' | 'html' | 'xml' | 'pdf'>;

/** A diff in one line; undefined if no content was compared and the diff gives a reason. */
export function diffSummary(diff: AnyDiff): string | undefined {
  switch (diff.kind) {
    case 'json':
      return listOf([
        [diff.summary.changed, 'value', 'changed'],
        [diff.summary.added, 'value', 'added'],
        [diff.summary.removed, 'value', 'removed'],
        [diff.summary.moved, 'value', 'moved'],
      ]);
    case 'csv':
      return summaryOfTable(diff);
    case 'image':
      return summaryOfImage(diff);
    case 'bytes':
      return summaryOfBytes(diff);
    default:
      return wordSummary(diff);
  }
}

/** Returns where a passage is that differs: the page of a document, or the line in both versions. */
export function hunkPlace({ from_line, to_line, page }: Hunk): string {
  if (page !== null) return `Page ${page}`;
  return from_line === to_line ? `Line ${from_line}` : `Line ${from_line}, now line ${to_line}`;
}

/** `2 rows added, 1 removed`: names the noun once and omits zero counts. */
function listOf(counts: readonly [count: number, noun: string, done: string][]): string | undefined {
  const some = counts.filter(([count]) => count > 0);
  if (some.length === 0) return undefined;
  return some
    .map(([count, noun, done], index) => `${index === 0 ? countOf(count, noun) : formatCount(count)} ${done}`)
    .join(', ');
}

function wordSummary({ summary, hunks, truncated }: WordsDiff): string | undefined {
  if (summary.unit === 'whole') {
    return `${countOf(summary.removed, 'word')} before, ${formatCount(summary.added)} now`;
  }
  if (hunks.length === 0) return undefined;
  const noun = summary.unit === 'words' ? 'word' : 'line';
  const counts = listOf([
    [summary.added, noun, 'added'],
    [summary.removed, noun, 'removed'],
  ]);
  const passages = countOf(hunks.length, 'passage');
  return `${truncated ? `First ${passages}` : passages}, ${counts ?? 'whitespace only'}`;
}

function summaryOfTable({ summary }: OfKind<'csv'>): string | undefined {
  const rows = listOf([
    [summary.rows_added, 'row', 'added'],
    [summary.rows_removed, 'row', 'removed'],
    [summary.rows_changed, 'row', 'changed'],
  ]);
  const columns = listOf([
    [summary.columns_added, 'column', 'added'],
    [summary.columns_removed, 'column', 'removed'],
  ]);
  const cells = summary.cells_changed > 0 ? ` (${countOf(summary.cells_changed, 'cell')})` : '';
  const parts = [rows && rows + cells, columns].filter((part) => part !== undefined);
  return parts.length > 0 ? parts.join('; ') : undefined;
}

function summaryOfImage({ summary, size }: OfKind<'image'>): string | undefined {
  const { differing_pixels: differing, visible_pixels: visible, share } = summary;
  if (differing === null) return `${dimensions(size.from)} before, ${dimensions(size.to)} now`;
  if (differing === 0) return undefined;
  const part = share === null ? '' : ` (${percent(share)})`;
  const seen = visible === null || visible === differing ? '' : `, ${formatCount(visible)} of them visibly`;
  return `${formatCount(differing)} of ${countOf(size.to.width * size.to.height, 'pixel')} differ${part}${seen}`;
}

function summaryOfBytes({ summary }: OfKind<'bytes'>): string {
  const { length_change: change, first_difference: first } = summary;
  const length =
    change === 0
      ? 'Same length'
      : `${countOf(Math.abs(change), 'byte')} ${change > 0 ? 'longer' : 'shorter'}`;
  return first === null
    ? length
    : `${length}; first difference at byte ${formatCount(first)} (counted from 0)`;
}

export function dimensions({ width, height }: { width: number; height: number }): string {
  return `${formatCount(width)} × ${formatCount(height)} pixels`;
}

/** A fraction as a percentage with two significant digits: `2.9 %`, `0.0031 %`. */
function percent(share: number): string {
  const value = share * 100;
  return `${value >= 99.5 || value === 0 ? Math.round(value) : Number(value.toPrecision(2))} %`;
}

/** The number of unchanged lines of the older version that are hidden before each hunk. */
export function unchangedBefore(hunks: readonly Pick<Hunk, 'from_line' | 'parts'>[]): number[] {
  let end = 1;
  return hunks.map(({ from_line, parts }) => {
    const unseen = Math.max(0, from_line - end);
    const text = parts.map((part) => (part.op === 'added' ? '' : part.text)).join('');
    end = from_line + text.split('\n').length - 1;
    return unseen;
  });
}

interface HexByte {
  hex: string;
  /** Whether the other version has a different byte or none at this position. */
  differs: boolean;
}

/** The bytes around the first difference, marked where the versions differ. */
export function hexBytes(own: string, other: string): HexByte[] {
  const others = pairsOf(other);
  return pairsOf(own).map((hex, index) => ({ hex, differs: hex !== others[index] }));
}

function pairsOf(hex: string): string[] {
  return hex.match(/../g) ?? [];
}
