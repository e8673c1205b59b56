import { MAX_QUOTE_CHARACTERS, type Passage } from '../../../../shared/findings/finding.ts';
import { ApiProblem, call } from '../../api/client.ts';

/** An object that a passage may be quoted from. */
export interface QuotedObject {
  sha256: string;
  /** Such as `After`. */
  name: string;
}

/** A passage, and the object whose text contains it, if one does. */
export interface FoundPassage {
  passage: Passage;
  object: QuotedObject | undefined;
}

/**
 * Finds a quotation in the texts of these objects, in their order. If none has it, the passage is the quotation as it
 * was entered, of no object.
 */
export async function findPassage(
  quote: string,
  objects: readonly QuotedObject[],
  signal?: AbortSignal,
): Promise<FoundPassage> {
  for (const object of objects) {
    const located = await locateIn(object, quote, signal);
    if (located && located.exact.length <= MAX_QUOTE_CHARACTERS)
      return { passage: { sha256: object.sha256, ...located }, object };
  }
  const nowhere = { prefix: '', suffix: '', start: null, end: null, page: null };
  return { passage: { sha256: null, exact: quote, ...nowhere }, object: undefined };
}

async function locateIn({ sha256 }: QuotedObject, quote: string, signal: AbortSignal | undefined) {
  try {
    const { text, pages } = await call('readObjectText', { params: { sha256 }, signal });
    return locatePassage(text, quote, pages !== null);
  } catch (error) {
    // The object has no text, or its text cannot be made now. The quotation is kept without its position.
    if (error instanceof ApiProblem) return undefined;
    throw error;
  }
}

/** How many characters before and after a passage are kept to find it again. */
const CONTEXT_CHARACTERS = 32;

/** A passage as it occurs in the text of an object. */
type LocatedPassage = Required<Omit<Passage, 'sha256'>>;

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
