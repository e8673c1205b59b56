import { inQuotes } from '../values/quotes.ts';
import { handedInWords } from './handedInWords.ts';

/** The `observer` of objects that the node retrieved itself. */
export const SELF = 'self';

/** The `observer` of what a page showed when this node drew it: its text, its picture and its document. */
export const BROWSER = 'browser';

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
