/** The observers of what a person handed in begin with this. */
export const HANDED_IN = 'handed-in:';

/** What is said wherever something is shown that was handed in. */
export const HANDED_IN_WORDS = 'handed in: this node did not fetch it';

export function isHandedIn(observer: string): boolean {
  return observer.startsWith(HANDED_IN);
}

/** Returns what is said of an observer that stands for a person who handed something in; undefined for any other. */
export function handedInWords(observer: string): string | undefined {
  return isHandedIn(observer) ? `${HANDED_IN_WORDS} (${observer.slice(HANDED_IN.length)})` : undefined;
}
