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
