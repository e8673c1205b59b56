import type { Snippet } from '../../../../shared/derived.ts';
import { snippetParts } from './snippetParts.ts';

/** A part of a text with the words that were looked for marked. Plain text, whatever it came from. */
export function SnippetText({ snippet }: { snippet: Snippet }) {
  return snippetParts(snippet).map(({ text, start, isMarked }) =>
    isMarked ? <mark key={start}>{text}</mark> : <span key={start}>{text}</span>,
  );
}
