import { diffArrays, diffWordsWithSpace } from 'diff';
import type { TextPart, WordParts } from '../../../shared/diff.ts';
import { buildHunks, type PageStarts } from './textHunks.ts';

/** Lines that may be added and removed before two texts are said to have too little in common. */
const MAX_LINE_EDITS = 4_000;
/** Words that may be added and removed within one stretch of changed lines before it is shown line by line. */
const MAX_WORD_EDITS = 1_500;
/** Stretches longer than this, both versions together, are shown line by line. */
const MAX_WORD_STRETCH = 400_000;
const LINES_TIMEOUT_MS = 2_500;
const WORDS_TIMEOUT_MS = 2_500;

/** The comparison of two texts, and why it is coarser than word by word, where it is. */
export interface TextComparison extends WordParts {
  truncated: boolean;
  coarse: 'some_lines' | 'too_different' | null;
}

/**
 * Compares two texts: lines first, then the words within the lines that differ. Bounded in time and in what it gives
 * back: where words are too many the lines are shown, and where lines are too, the beginning of either text.
 *
 * @param pages where the pages of the newer text begin, by lines
 */
export function compareWords(from: string, to: string, pages?: PageStarts): TextComparison {
  const stretches = changedStretches(from, to);
  if (!stretches) {
    const parts: TextPart[] = [
      { op: 'removed', text: from.slice(0, BEGINNING) },
      { op: 'added', text: to.slice(0, BEGINNING) },
    ];
    const { hunks, truncated } = buildHunks(parts, pages);
    const isCut = truncated || from.length > BEGINNING || to.length > BEGINNING;
    const summary = { unit: 'whole' as const, added: countWords(to), removed: countWords(from) };
    return { summary, hunks, truncated: isCut, coarse: 'too_different' };
  }
  const refined = refine(stretches);
  const { hunks, truncated } = buildHunks(refined.parts, pages);
  return {
    summary: { unit: refined.isCoarse ? 'lines' : 'words', ...countChanges(refined) },
    hunks,
    truncated,
    coarse: refined.isCoarse ? 'some_lines' : null,
  };
}

/** So much of either text is shown where they have too little in common, in characters. */
const BEGINNING = 20_000;

type Stretch = { same: string } | { removed: string; added: string };

/** Runs of lines that are the same or differ, in order; undefined where too many differ. */
function changedStretches(from: string, to: string): Stretch[] | undefined {
  const old = linesOf(from);
  const now = linesOf(to);
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  const most = Math.min(old.length, now.length) - start;
  while (end < most && old[old.length - 1 - end] === now[now.length - 1 - end]) end += 1;
  const changes = diffArrays(old.slice(start, old.length - end), now.slice(start, now.length - end), {
    maxEditLength: MAX_LINE_EDITS,
    timeout: LINES_TIMEOUT_MS,
  });
  if (!changes) return undefined;
  const stretches: Stretch[] = [{ same: old.slice(0, start).join('') }];
  for (const { value, added, removed } of changes) {
    const text = value.join('');
    const last = stretches.at(-1);
    if (!added && !removed) stretches.push({ same: text });
    else if (last && 'removed' in last) {
      if (added) last.added += text;
      else last.removed += text;
    } else stretches.push({ removed: removed ? text : '', added: added ? text : '' });
  }
  stretches.push({ same: old.slice(old.length - end).join('') });
  return stretches;
}

/** Lines with their ends. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

interface Refined {
  parts: TextPart[];
  isCoarse: boolean;
}

/** Compares what differs word by word, as long as there is time. */
function refine(stretches: readonly Stretch[]): Refined {
  const deadline = performance.now() + WORDS_TIMEOUT_MS;
  const parts: TextPart[] = [];
  let isCoarse = false;
  for (const stretch of stretches) {
    if ('same' in stretch) {
      parts.push({ op: 'same', text: stretch.same });
      continue;
    }
    const words = compareStretch(stretch.removed, stretch.added, deadline - performance.now());
    if (words) for (const part of words) parts.push(part);
    else {
      isCoarse = true;
      parts.push({ op: 'removed', text: stretch.removed }, { op: 'added', text: stretch.added });
    }
  }
  return { parts, isCoarse };
}

function compareStretch(removed: string, added: string, timeout: number): TextPart[] | undefined {
  if (removed === '') return [{ op: 'added', text: added }];
  if (added === '') return [{ op: 'removed', text: removed }];
  if (timeout <= 0 || removed.length + added.length > MAX_WORD_STRETCH) return undefined;
  const changes = diffWordsWithSpace(removed, added, { maxEditLength: MAX_WORD_EDITS, timeout });
  return changes?.map((change) => ({
    op: change.added ? 'added' : change.removed ? 'removed' : 'same',
    text: change.value,
  }));
}

function countChanges({ parts, isCoarse }: Refined): { added: number; removed: number } {
  const counts = { added: 0, removed: 0 };
  const count = isCoarse ? (text: string) => linesOf(text).length : countWords;
  for (const { op, text } of parts) if (op !== 'same') counts[op] += count(text);
  return counts;
}

/** Words are what stands between white space. */
function countWords(text: string): number {
  let count = 0;
  let isInWord = false;
  for (let at = 0; at < text.length; at += 1) {
    const isSpace = isWhiteSpace(text.charCodeAt(at));
    if (!isSpace && !isInWord) count += 1;
    isInWord = !isSpace;
  }
  return count;
}

function isWhiteSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d) || code === 0xa0 || code === 0x2028;
}
