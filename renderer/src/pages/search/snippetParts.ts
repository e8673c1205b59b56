import type { Snippet } from '../../../../shared/collection/derived.ts';

export interface SnippetPart {
  /** Offset in the snippet in UTF-16 code units. */
  start: number;
  text: string;
  isMarked: boolean;
}

/** Splits a snippet at its highlights, in order. Overlapping highlights lose no text. */
export function snippetParts({ text, marks }: Snippet): SnippetPart[] {
  const parts: SnippetPart[] = [];
  let at = 0;
  const push = (end: number, isMarked: boolean) => {
    if (end > at) parts.push({ start: at, text: text.slice(at, end), isMarked });
    at = Math.max(at, end);
  };
  for (const { start, end } of marks.toSorted((left, right) => left.start - right.start)) {
    push(start, false);
    push(end, true);
  }
  push(text.length, false);
  return parts;
}
