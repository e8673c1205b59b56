import type { Hunk, TextPart } from '../../../shared/diff.ts';

/** As much of what stays the same is shown on each side of a change, in characters. */
const CONTEXT = 160;
/** The hunks of one diff have at most so many characters, so many parts and so many hunks. */
const MAX_CHARACTERS = 200_000;
const MAX_PARTS = 4_000;
const MAX_HUNKS = 500;

/** Where the pages of a PDF begin, as line numbers counted from 1. */
export type PageStarts = readonly number[];

/**
 * Cuts a whole comparison into hunks: changes with a little of what stands around them. What lies between two changes
 * is left out where it is long. Lines are counted from 1 in either version.
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
  /** The text before the change that comes next, where no hunk is open. */
  #before = '';
  #fromLine = 1;
  #toLine = 1;
  #characters = 0;
  #parts = 0;

  constructor(pages: PageStarts | undefined) {
    this.#pages = pages;
  }

  /** Takes the next part; false once there is no room for it. */
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
    this.#push(op, text.length > room ? dropHalfSurrogate(text.slice(0, room)) : text);
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

  /** The hunks; what stands after the last change is cut short. */
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

export function countLineEnds(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}

/** The beginning of a text, cut between words where it can be. */
function firstOf(text: string): string {
  if (text.length <= CONTEXT) return text;
  const cut = text.slice(0, CONTEXT);
  const space = cut.search(/\s\S*$/);
  return dropHalfSurrogate(space > CONTEXT / 2 ? cut.slice(0, space) : cut);
}

/** The end of a text, cut between words where it can be. */
function lastOf(text: string): string {
  if (text.length <= CONTEXT) return text;
  const cut = text.slice(-CONTEXT);
  const space = cut.search(/\s/);
  const begun = space !== -1 && space < CONTEXT / 2 ? cut.slice(space + 1) : cut;
  return /^[\udc00-\udfff]/.test(begun) ? begun.slice(1) : begun;
}

/** Half of a surrogate pair at the end is dropped. */
export function dropHalfSurrogate(text: string): string {
  return /[\ud800-\udbff]$/.test(text) ? text.slice(0, -1) : text;
}
