/** Letters of scripts that separate words by spaces. In other scripts, such as Han, each letter is a token. */
const LETTERS = ['Latin', 'Greek', 'Cyrillic', 'Armenian', 'Hebrew', 'Arabic', 'Devanagari', 'Hangul']
  .map((script) => `\\p{Script=${script}}`)
  .join('');
const WORD = `[${LETTERS}\\p{M}\\p{Nd}_\\u00ad]`;
const TOKEN = new RegExp(`\\p{Nd}+(?:[.,:]\\p{Nd}+)+(?!${WORD})|${WORD}+|\\r?\\n|[^\\S\\r\\n]+|[^]`, 'gu');

/**
 * Splits a text for a comparison by words: words, numbers with their separators, runs of white space, and other
 * characters one by one. A price of 4.10 that becomes 4.35 is one change, not a change of its cents.
 */
export function wordTokens(text: string): string[] {
  return text.match(TOKEN) ?? [];
}
