/** Letters of scripts that separate words by spaces. In other scripts, such as Han, each letter is a token. */
const LETTERS = ['Latin', 'Greek', 'Cyrillic', 'Armenian', 'Hebrew', 'Arabic', 'Devanagari', 'Hangul']
  .map((script) => `\\p{Script=${script}}`)
  .join('');
const WORD = `[${LETTERS}\\p{M}\\p{Nd}_\\u00ad]`;
const DIGITS = '\\p{Nd}+(?:[.,:]\\p{Nd}+)*';
const SIGNED = `(?<!${WORD})[-+\u2212]${DIGITS}(?!${WORD})`;
const TOKEN = new RegExp(`${SIGNED}|${DIGITS}(?!${WORD})|${WORD}+|\\r?\\n|[^\\S\\r\\n]+|[^]`, 'gu');

/**
 * Splits a text for a comparison by words: words, numbers with their sign and separators, runs of white space, and other
 * characters one by one. A price of 4.10 that becomes 4.35 is one change, not a change of its cents.
 */
export function wordTokens(text: string): string[] {
  return text.match(TOKEN) ?? [];
}
