import { findWords } from '../../../../shared/findings/anchor.ts';
import { MAX_QUOTE_CHARACTERS, type NewFinding } from '../../../../shared/findings/finding.ts';
import { ApiProblem, call } from '../../api/client.ts';

/** An object that a passage may be quoted from. */
export interface QuotedObject {
  sha256: string;
  /** Such as `After`. */
  name: string;
}

/** A passage, and where it is in the text of an object that contains it, if one does. */
export interface FoundPassage {
  passage: NonNullable<NewFinding['passage']>;
  found:
    | { object: QuotedObject; start: number; end: number; page: number | null; others: number }
    | undefined;
}

/**
 * Finds a quotation in the texts of these objects, in their order: the first place, if there are several. If none has it,
 * the passage is the quotation as it was entered, of no object.
 */
export async function findPassage(
  quote: string,
  objects: readonly QuotedObject[],
  signal?: AbortSignal,
): Promise<FoundPassage> {
  const entered = { exact: quote, prefix: '', suffix: '', page: null };
  for (const object of objects) {
    const located = await locateIn(object, quote, signal);
    if (!located || located.end - located.start > MAX_QUOTE_CHARACTERS) continue;
    const { exact, start, end } = located;
    const passage = { ...entered, sha256: object.sha256, exact, start, end };
    return { passage, found: { object, ...located } };
  }
  return { passage: { ...entered, sha256: null, start: null, end: null }, found: undefined };
}

async function locateIn({ sha256 }: QuotedObject, quote: string, signal: AbortSignal | undefined) {
  try {
    const { text, pages } = await call('readObjectText', { params: { sha256 }, signal });
    return firstPlace(text, quote, pages !== null);
  } catch (error) {
    // The object has no text, or its text cannot be made now. The quotation is kept without its position.
    if (error instanceof ApiProblem) return undefined;
    throw error;
  }
}

/** The first place of a quotation in a text, and how many others there are. */
function firstPlace(text: string, quote: string, hasPages: boolean) {
  const { count, first } = findWords(text, quote);
  if (!first) return undefined;
  const characters = Array.from(text);
  const { start, end } = first;
  return {
    start,
    end,
    exact: characters.slice(start, end).join(''),
    page: hasPages ? characters.slice(0, start).join('').split('\f').length : null,
    others: count - 1,
  };
}

/** The words at either end by which a browser finds a long passage. */
const FRAGMENT_WORDS = 5;

/** Returns the fragment of an address that makes a browser show these words (URL Fragment Text Directives). */
export function textFragment(exact: string): string {
  const words = exact.trim().split(/\s+/u);
  const encoded = (part: readonly string[]) => encodeURIComponent(part.join(' ')).replaceAll('-', '%2D');
  const range =
    words.length <= 2 * FRAGMENT_WORDS
      ? [encoded(words)]
      : [encoded(words.slice(0, FRAGMENT_WORDS)), encoded(words.slice(-FRAGMENT_WORDS))];
  return `#:~:text=${range.join(',')}`;
}
