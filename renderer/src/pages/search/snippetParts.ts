import type { Snippet } from '../../../../shared/derived.ts';

export interface SnippetPart {
  /** Where in the snippet it begins, in UTF-16 code units. */
  start: number;
  text: string;
  isMarked: boolean;
}

/** A snippet cut at its marks, in order; nothing of it is lost where marks touch or overlap. */
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
