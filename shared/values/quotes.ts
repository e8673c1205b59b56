/**
 * Writes out the characters that are not seen and may change how the others are shown, or pass for the space between two words.
 * What only chooses between two pictures of a character stays.
 */
export function visible(text: string): string {
  return text.replace(
    /(?![\ufe00-\ufe0f])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}\u2800]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}

/** Signs that a reader takes for quotation marks: those of one stroke only if there are two. */
const DOUBLE = '"“”„‟«»❝❞〃〝〞〟＂″‶˝ʺˮ˶״⹂🙶🙷🙸';
const SINGLE = "'‘’‚‛‹›′‵ʹʻʼʽˈ´`＇";
const MARKS = new RegExp(`[${SINGLE}]*[${DOUBLE}][${SINGLE}${DOUBLE}]*|[${SINGLE}]{2,}`, 'gu');

/** Returns a text without signs that could be taken for the end of a quotation of it. */
export function withoutMarks(text: string): string {
  return text.replace(MARKS, '’');
}

/** Quotes a text in a sentence. No other quotation marks are in it, so a reader sees where it ends. */
export function inQuotes(text: string): string {
  return `“${visible(withoutMarks(text))}”`;
}
