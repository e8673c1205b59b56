import type { Comparison, TextPart } from '../../../shared/collection/diff.ts';
import { MAX_SUMMARY_CHARACTERS } from '../../../shared/collection/event.ts';
import { countOf, formatCount } from '../../../shared/values/counts.ts';
import type { Pair } from '../noise/ruleRun.ts';

type OfKind<Kind extends Comparison['kind']> = Extract<Comparison, { kind: Kind }>;
type Words = OfKind<'text' | 'html' | 'xml' | 'pdf'>;

/** The longest text that is quoted from a version. */
const MAX_QUOTED = 24;

/**
 * Says in a few words what changed; null if there is nothing to say. The result is plain text in one line.
 *
 * @param pages how many pages each version of a PDF has, or null.
 */
export function summarize(comparison: Comparison, pages: Pair<number> | null): string | null {
  const text = comparison.noise.is_noise ? noiseSummary(comparison) : contentSummary(comparison, pages);
  return text === null ? null : plainLine(text, MAX_SUMMARY_CHARACTERS);
}

/** Names the rule that explains the change, or says that it is elsewhere. */
function noiseSummary({ noise: { rules, outside } }: Comparison): string {
  if (outside) return 'outside the watched part';
  const used = rules.filter(({ ignored }) => ignored.from + ignored.to > 0);
  const [first] = used;
  if (!first) return 'Noise';
  const more = used.length > 1 ? ` and ${countOf(used.length - 1, 'more rule')}` : '';
  return `Noise by the rule ${quoted(first.value, 40)}${more}`;
}

function contentSummary(comparison: Comparison, pages: Pair<number> | null): string | null {
  switch (comparison.kind) {
    case 'json':
      return jsonSummary(comparison);
    case 'csv':
      return tableSummary(comparison);
    case 'image':
      return imageSummary(comparison);
    case 'bytes':
      return lengthSummary(comparison.summary.length_change);
    default:
      return joined(pages && pageSummary(pages), wordSummary(comparison));
  }
}

function joined(...parts: (string | null | false)[]): string | null {
  return parts.filter(Boolean).join(', ') || null;
}

function pageSummary({ from, to }: Pair<number>): string | null {
  if (from === to) return null;
  return `${countOf(Math.abs(to - from), 'page')} ${to > from ? 'added' : 'removed'}`;
}

function wordSummary({ summary, hunks }: Words): string | null {
  const { unit, added, removed } = summary;
  if (unit === 'whole') return `rewritten: ${formatCount(removed)} → ${countOf(added, 'word')}`;
  if (hunks.length === 0) return 'only the markup changed';
  if (added + removed === 0) return 'only white space changed';
  const replaced = unit === 'words' ? firstReplacement(hunks.flatMap(({ parts }) => parts)) : null;
  // One word for one word is said completely by the replacement.
  if (replaced && added === 1 && removed === 1) return replaced;
  return joined(replaced, signed([added, removed], unit === 'words' ? 'word' : 'line'));
}

/** `+14 −7 words`. */
function signed([added, removed]: [number, number], noun: string): string {
  const counts = [added > 0 && `+${formatCount(added)}`, removed > 0 && `−${formatCount(removed)}`].filter(
    Boolean,
  );
  const last = removed > 0 ? removed : added;
  return `${counts.join(' ')} ${last === 1 && counts.length === 1 ? noun : `${noun}s`}`;
}

/** `120 → 145 euros`: the first number that became another, else the first short text that was replaced. */
function firstReplacement(parts: readonly TextPart[]): string | null {
  let firstText: string | null = null;
  for (const [index, { op, text }] of parts.entries()) {
    const next = parts[index + 1];
    if (op !== 'removed' || next?.op !== 'added') continue;
    const [from, to] = [text.trim(), next.text.trim()];
    if (!isShort(from) || !isShort(to)) continue;
    if (isNumber(from) && isNumber(to)) return `${from} → ${to}${unitOf(parts[index + 2])}`;
    firstText ??= `${quoted(from)} → ${quoted(to)}`;
  }
  return firstText;
}

function isShort(text: string): boolean {
  return text !== '' && text.length <= MAX_QUOTED && !text.includes('\n');
}

function isNumber(text: string): boolean {
  return /^\p{Sc}?[+−-]?\d[\d.,:/ ]*[%\p{Sc}]?$/u.test(text);
}

/** The word after a number, with a space before it. */
function unitOf(next: TextPart | undefined): string {
  const unit = next?.op === 'same' ? /^[ \u00a0](\p{L}{1,16})(?!\p{L})/u.exec(next.text)?.[1] : undefined;
  return unit === undefined ? '' : ` ${unit}`;
}

function jsonSummary({ summary, changes }: OfKind<'json'>): string | null {
  const { added, removed, changed, moved } = summary;
  const total = added + removed + changed + moved;
  if (total === 0) return 'only the notation changed';
  const first = changes.find(({ op }) => op === 'changed');
  const name = first?.pointer.split('/').at(-1)?.replaceAll('~1', '/').replaceAll('~0', '~');
  const [before, after] = [first?.before?.json ?? '', first?.after?.json ?? ''];
  if (name && isShort(name) && isShort(before) && isShort(after)) {
    return joined(`${name}: ${before} → ${after}`, total > 1 && countOf(total - 1, 'other value'));
  }
  return listOf('value', [
    [changed, 'changed'],
    [added, 'added'],
    [removed, 'removed'],
    [moved, 'moved'],
  ]);
}

function tableSummary({ summary, rows }: OfKind<'csv'>): string | null {
  const cell = rows.find(({ op }) => op === 'changed')?.cells[0];
  const [before, after] = [cell?.before ?? '', cell?.after ?? ''];
  const { rows_added, rows_removed, rows_changed, cells_changed, columns_added, columns_removed } = summary;
  const isOneCell = cells_changed === 1 && rows_added + rows_removed + columns_added + columns_removed === 0;
  if (cell && isOneCell && isShort(before) && isShort(after))
    return joined(`${quoted(cell.column)}: ${before} → ${after}`);
  const found = joined(
    listOf('row', [
      [rows_added, 'added'],
      [rows_removed, 'removed'],
      [rows_changed, 'changed'],
    ]),
    listOf('column', [
      [columns_added, 'added'],
      [columns_removed, 'removed'],
    ]),
  );
  return found ?? 'only the notation changed';
}

function imageSummary({ summary, size: { from, to }, region }: OfKind<'image'>): string {
  const { differing_pixels, share } = summary;
  const what = region ? 'watched region' : 'image';
  if (differing_pixels === null) return `image: ${from.width} × ${from.height} → ${to.width} × ${to.height}`;
  if (differing_pixels === 0) return 'same image, encoded differently';
  const percent = (share ?? 0) * 100;
  const rounded = percent < 0.01 ? 'under 0.01' : percent >= 10 ? percent.toFixed(0) : percent.toPrecision(1);
  return `${what} differs in ${rounded} %`;
}

function lengthSummary(change: number): string {
  if (change === 0) return 'other bytes, same length';
  return `${change > 0 ? '+' : '−'}${countOf(Math.abs(change), 'byte')}`;
}

/** `3 rows added, 1 removed`: names the noun once and omits zero counts. */
function listOf(noun: string, counts: readonly [count: number, done: string][]): string | null {
  const some = counts.filter(([count]) => count > 0);
  return joined(
    ...some.map(
      ([count, done], index) => `${index === 0 ? countOf(count, noun) : formatCount(count)} ${done}`,
    ),
  );
}

function quoted(text: string, max = MAX_QUOTED): string {
  return `“${plainLine(text, max)}”`;
}

/**
 * Returns a text as one line of at most `max` characters, without control and format characters (which could reorder or
 * hide the text around it) and without piles of combining marks.
 */
export function plainLine(text: string, max: number): string {
  const line = text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/[\p{Cf}\p{Co}\p{Cn}]/gu, '')
    .replace(/(\p{M}{2})\p{M}+/gu, '$1')
    .replace(/\s+/g, ' ')
    .trim();
  const characters = Array.from(line);
  return characters.length <= max
    ? line
    : `${characters
        .slice(0, max - 1)
        .join('')
        .trimEnd()}…`;
}
