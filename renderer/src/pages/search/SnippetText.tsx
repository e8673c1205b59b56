import type { Snippet } from '../../../../shared/collection/derived.ts';
import { snippetParts } from './snippetParts.ts';

/** A snippet as plain text, with the search words highlighted. */
export function SnippetText({ snippet }: { snippet: Snippet }) {
  return snippetParts(snippet).map(({ text, start, isMarked }) =>
    isMarked ? <mark key={start}>{text}</mark> : <span key={start}>{text}</span>,
  );
}
