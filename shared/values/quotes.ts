/** Writes out the characters that are not seen and may change how the others are shown. */
export function visible(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}

/** Signs that a reader takes for quotation marks. */
const MARKS = /["“”„‟«»〝〞〟＂″‶]/g;

/** Quotes a text in a sentence. No other quotation marks are in it, so a reader sees where it ends. */
export function inQuotes(text: string): string {
  return `“${visible(text).replace(MARKS, '’')}”`;
}
