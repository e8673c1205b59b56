import type { Passage } from '../../../../../shared/findings/finding.ts';

/** How many characters before and after a passage are kept to find it again. */
const CONTEXT_CHARACTERS = 32;

/** A passage as it occurs in the text of an object. */
export type LocatedPassage = Required<Omit<Passage, 'sha256'>>;

/**
 * Finds the first occurrence of a quotation in a text. White space may differ, because a page is displayed with other
 * line breaks than its text has. Positions count Unicode code points, as the Web Annotation model requires.
 *
 * @param hasPages whether form feeds separate pages
 */
export function locatePassage(text: string, quote: string, hasPages: boolean): LocatedPassage | undefined {
  const words = quote.trim().split(/\s+/u);
  if (words[0] === '') return undefined;
  const found = new RegExp(words.map(escaped).join('\\s+'), 'u').exec(text);
  if (!found) return undefined;
  const [exact] = found;
  const before = text.slice(0, found.index);
  const start = codePoints(before);
  return {
    exact,
    prefix: lastCharacters(before),
    suffix: firstCharacters(text.slice(found.index + exact.length)),
    start,
    end: start + codePoints(exact),
    page: hasPages ? before.split('\f').length : null,
  };
}

function escaped(word: string): string {
  return word.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}

function lastCharacters(text: string): string {
  return Array.from(text.slice(-2 * CONTEXT_CHARACTERS))
    .slice(-CONTEXT_CHARACTERS)
    .join('');
}

function firstCharacters(text: string): string {
  return Array.from(text.slice(0, 2 * CONTEXT_CHARACTERS))
    .slice(0, CONTEXT_CHARACTERS)
    .join('');
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
