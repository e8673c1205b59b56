import { diffArrays } from 'diff';
import { wordTokens } from '../../../shared/collection/derived.ts';
import type { Hunk, TextPart, WordParts } from '../../../shared/collection/diff.ts';
import { truncateText } from '../derived/limits.ts';

/** With more added and removed lines than this, two texts have too little in common. */
const MAX_LINE_EDITS = 4_000;
/** With more added and removed words than this, a run of changed lines is shown line by line. */
const MAX_WORD_EDITS = 1_500;
/** Longer runs of changed lines, both versions together, are shown line by line. */
const MAX_RUN_CHARACTERS = 400_000;
const LINES_TIMEOUT_MS = 2_500;
const WORDS_TIMEOUT_MS = 2_500;

/** The comparison of two texts; `coarse` is why it is not word by word, or null. */
interface TextComparison extends WordParts {
  truncated: boolean;
  coarse: 'some_lines' | 'too_different' | null;
}

/**
 * Compares two texts: first by lines, then by words within the changed lines. Time and output are limited: with too many
 * changed words the lines are shown, with too many changed lines the beginning of each text.
 *
 * @param pages the lines in which the pages of the newer text begin
 */
export function compareWords(from: string, to: string, pages?: PageStarts): TextComparison {
  const runs = compareLines(from, to);
  if (!runs) {
    const parts: TextPart[] = [
      { op: 'removed', text: from.slice(0, BEGINNING) },
      { op: 'added', text: to.slice(0, BEGINNING) },
    ];
    const { hunks, truncated } = buildHunks(parts, pages);
    const isCut = truncated || from.length > BEGINNING || to.length > BEGINNING;
    const summary = { unit: 'whole' as const, added: countWords(to), removed: countWords(from) };
    return { summary, hunks, truncated: isCut, coarse: 'too_different' };
  }
  const refined = refine(runs);
  const { hunks, truncated } = buildHunks(refined.parts, pages);
  return {
    summary: { unit: refined.isCoarse ? 'lines' : 'words', ...countChanges(refined) },
    hunks,
    truncated,
    coarse: refined.isCoarse ? 'some_lines' : null,
  };
}

/** Characters shown of each text if they have too little in common. */
const BEGINNING = 20_000;

type Run = { same: string } | { removed: string; added: string };

/** Returns the runs of unchanged and changed lines, in order; undefined if too many lines changed. */
function compareLines(from: string, to: string): Run[] | undefined {
  const old = linesOf(from);
  const now = linesOf(to);
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  const maxEnd = Math.min(old.length, now.length) - start;
  while (end < maxEnd && old[old.length - 1 - end] === now[now.length - 1 - end]) end += 1;
  const changes = diffArrays(old.slice(start, old.length - end), now.slice(start, now.length - end), {
    maxEditLength: MAX_LINE_EDITS,
    timeout: LINES_TIMEOUT_MS,
  });
  if (!changes) return undefined;
  const runs: Run[] = [{ same: old.slice(0, start).join('') }];
  for (const { value, added, removed } of changes) {
    const text = value.join('');
    const last = runs.at(-1);
    if (!added && !removed) runs.push({ same: text });
    else if (last && 'removed' in last) {
      if (added) last.added += text;
      else last.removed += text;
    } else runs.push({ removed: removed ? text : '', added: added ? text : '' });
  }
  runs.push({ same: old.slice(old.length - end).join('') });
  return runs;
}

/** Splits a text into lines, keeping the line ends. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

interface Refined {
  parts: TextPart[];
  isCoarse: boolean;
}

/** Compares the changed runs word by word until the time is used up. */
function refine(runs: readonly Run[]): Refined {
  const deadline = performance.now() + WORDS_TIMEOUT_MS;
  const parts: TextPart[] = [];
  let isCoarse = false;
  for (const run of runs) {
    if ('same' in run) {
      parts.push({ op: 'same', text: run.same });
      continue;
    }
    const words = compareRun(run.removed, run.added, deadline - performance.now());
    if (words) for (const part of words) parts.push(part);
    else {
      isCoarse = true;
      parts.push({ op: 'removed', text: run.removed }, { op: 'added', text: run.added });
    }
  }
  return { parts, isCoarse };
}

function compareRun(removed: string, added: string, timeout: number): TextPart[] | undefined {
  if (removed === '') return [{ op: 'added', text: added }];
  if (added === '') return [{ op: 'removed', text: removed }];
  if (timeout <= 0 || removed.length + added.length > MAX_RUN_CHARACTERS) return undefined;
  const options = { maxEditLength: MAX_WORD_EDITS, timeout };
  const changes = diffArrays(wordTokens(removed), wordTokens(added), options);
  return changes?.map((change) => ({
    op: change.added ? 'added' : change.removed ? 'removed' : 'same',
    text: change.value.join(''),
  }));
}

function countChanges({ parts, isCoarse }: Refined): { added: number; removed: number } {
  const counts = { added: 0, removed: 0 };
  const count = isCoarse ? (text: string) => linesOf(text).length : countWords;
  for (const { op, text } of parts) if (op !== 'same') counts[op] += count(text);
  return counts;
}

/** Counts words, separated by white space. */
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

/** Characters of unchanged text shown on each side of a change. */
const CONTEXT = 160;
/** Limits on the hunks of one diff. */
const MAX_CHARACTERS = 200_000;
const MAX_PARTS = 4_000;
const MAX_HUNKS = 500;

/** The lines in which the pages of a PDF begin, counted from 1. */
type PageStarts = readonly number[];

/**
 * Cuts a comparison into hunks: changes with a little context. Long unchanged text between two changes is left out. Lines
 * are counted from 1 in each version.
 */
function buildHunks(parts: Iterable<TextPart>, pages?: PageStarts): { hunks: Hunk[]; truncated: boolean } {
  const cutter = new HunkCutter(pages);
  for (const part of parts) {
    if (part.text === '') continue;
    if (!cutter.add(part)) return { hunks: cutter.end(), truncated: true };
  }
  return { hunks: cutter.end(), truncated: false };
}

class HunkCutter {
  readonly #hunks: Hunk[] = [];
  readonly #pages: PageStarts | undefined;
  #open: Hunk | undefined;
  /** The context before the next change while no hunk is open. */
  #before = '';
  #fromLine = 1;
  #toLine = 1;
  #characters = 0;
  #parts = 0;

  constructor(pages: PageStarts | undefined) {
    this.#pages = pages;
  }

  /** Adds the next part. Returns false once a limit is reached. */
  add({ op, text }: TextPart): boolean {
    if (op === 'same') this.#addSame(text);
    else if (!this.#addChange(op, text)) return false;
    const lines = countLineEnds(text);
    if (op !== 'added') this.#fromLine += lines;
    if (op !== 'removed') this.#toLine += lines;
    return true;
  }

  #addSame(text: string): void {
    if (!this.#open) {
      this.#before = lastOf(text);
      return;
    }
    if (text.length <= 2 * CONTEXT) {
      this.#push('same', text);
      return;
    }
    this.#push('same', firstOf(text));
    this.#open = undefined;
    this.#before = lastOf(text);
  }

  #addChange(op: 'added' | 'removed', text: string): boolean {
    const room = MAX_CHARACTERS - this.#characters;
    if (room <= 0 || this.#parts >= MAX_PARTS) return false;
    if (!this.#open) {
      if (this.#hunks.length >= MAX_HUNKS) return false;
      this.#begin();
    }
    this.#push(op, truncateText(text, room));
    return text.length <= room;
  }

  #begin(): void {
    const lines = countLineEnds(this.#before);
    const toLine = this.#toLine - lines;
    this.#open = {
      from_line: this.#fromLine - lines,
      to_line: toLine,
      page: this.#pages ? pageOf(this.#pages, this.#toLine) : null,
      parts: [],
    };
    this.#hunks.push(this.#open);
    if (this.#before !== '') this.#push('same', this.#before);
    this.#before = '';
  }

  #push(op: TextPart['op'], text: string): void {
    const parts = this.#open?.parts;
    const last = parts?.at(-1);
    if (last?.op === op) last.text += text;
    else {
      parts?.push({ op, text });
      this.#parts += 1;
    }
    this.#characters += text.length;
  }

  /** Returns the hunks, with the text after the last change cut to the context. */
  end(): Hunk[] {
    const last = this.#open?.parts.at(-1);
    if (last?.op === 'same') last.text = firstOf(last.text);
    return this.#hunks;
  }
}

function pageOf(pages: PageStarts, line: number): number {
  let page = 1;
  for (const [index, start] of pages.entries()) {
    if (start > line) break;
    page = index + 1;
  }
  return page;
}

function countLineEnds(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}

/** Returns the beginning of a text, cut between words if possible. */
function firstOf(text: string): string {
  if (text.length <= CONTEXT) return text;
  const space = text.slice(0, CONTEXT).search(/\s\S*$/);
  return truncateText(text, space > CONTEXT / 2 ? space : CONTEXT);
}

/** Returns the end of a text, cut between words if possible. */
function lastOf(text: string): string {
  if (text.length <= CONTEXT) return text;
  const cut = text.slice(-CONTEXT);
  const space = cut.search(/\s/);
  const begun = space !== -1 && space < CONTEXT / 2 ? cut.slice(space + 1) : cut;
  return /^[\udc00-\udfff]/.test(begun) ? begun.slice(1) : begun;
}
