import { MAX_QUOTE_CHARACTERS, type Passage } from '../../../../../shared/findings/finding.ts';
import { ApiProblem, call } from '../../../api/client.ts';
import { locatePassage } from './locatePassage.ts';

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
