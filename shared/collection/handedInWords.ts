import { inQuotes } from '../values/quotes.ts';

/** The observers of what a person handed in begin with this. */
export const HANDED_IN = 'handed-in:';

/** What is said wherever something is shown that was handed in. */
export const HANDED_IN_WORDS = 'handed in: this node did not fetch it';

export function isHandedIn(observer: string): boolean {
  return observer.startsWith(HANDED_IN);
}

/** A name in parentheses has nothing that could be taken for their end. */
const PLAIN_NAME = /^[\p{L}\p{M}\p{N} .,'’@_-]+$/u;

/** Returns what is said of an observer that stands for a person who handed something in; undefined for any other. */
export function handedInWords(observer: string): string | undefined {
  if (!isHandedIn(observer)) return undefined;
  const name = observer.slice(HANDED_IN.length);
  return `${HANDED_IN_WORDS} (${PLAIN_NAME.test(name) ? name : inQuotes(name)})`;
}
