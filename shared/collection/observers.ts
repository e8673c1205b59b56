import { inQuotes } from '../values/quotes.ts';

/** The `observer` of objects that the node retrieved itself. */
export const SELF = 'self';

/** The `observer` of what a page showed when this node drew it: its text, its picture and its document. */
export const BROWSER = 'browser';

/** The observers of what a person handed in begin with this. */
export const HANDED_IN = 'handed-in:';

/** What is said wherever something is shown that was handed in. */
export const HANDED_IN_WORDS = 'handed in: this node did not fetch it';

export function isHandedIn(observer: string): boolean {
  return observer.startsWith(HANDED_IN);
}

/** Whether the node itself fetched or drew it. All other observers are names that somebody chose. */
export function isOwnObserver(observer: string): boolean {
  return observer === SELF || observer === BROWSER;
}

/**
 * Words an observer for people. The names of others are quoted after what they are: an archive or a peer may be called “the node
 * itself”.
 *
 * @param own how the node itself and its browser are called where it is shown
 */
export function observerWords(
  observer: string,
  own: Readonly<Record<typeof SELF | typeof BROWSER, string>>,
): string {
  if (observer === SELF) return own.self;
  return observer === BROWSER ? own.browser : foreignWords(observer);
}

/** Words an observer that is not the node itself. */
export function foreignWords(observer: string): string {
  return handedInWords(observer) ?? `another archive, called ${inQuotes(observer)}`;
}

/** A name in parentheses has nothing that could be taken for their end. */
const PLAIN_NAME = /^[\p{L}\p{M}\p{N} .,'’@_-]+$/u;

/** Returns what is said of an observer that stands for a person who handed something in; undefined for any other. */
export function handedInWords(observer: string): string | undefined {
  if (!isHandedIn(observer)) return undefined;
  const name = observer.slice(HANDED_IN.length);
  return `${HANDED_IN_WORDS} (${PLAIN_NAME.test(name) ? name : inQuotes(name)})`;
}
