import type { Hunk, TextPart } from '../../../shared/collection/diff.ts';
import { truncateText } from '../derived/truncate.ts';

/** Characters of unchanged text shown on each side of a change. */
const CONTEXT = 160;
/** Limits on the hunks of one diff. */
const MAX_CHARACTERS = 200_000;
const MAX_PARTS = 4_000;
const MAX_HUNKS = 500;

/** The lines in which the pages of a PDF begin, counted from 1. */
export type PageStarts = readonly number[];

/**
 * Cuts a comparison into hunks: changes with a little context. Long unchanged text between two changes is left out. Lines
 * are counted from 1 in each version.
 */
export function buildHunks(
  parts: Iterable<TextPart>,
  pages?: PageStarts,
): { hunks: Hunk[]; truncated: boolean } {
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
