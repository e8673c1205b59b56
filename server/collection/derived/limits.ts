/** Bytes read of an object, and bytes that its content encoding may decode to. */
export const MAX_BYTES_READ = 67_108_864;
/** Characters parsed of a markup document. Each may take fifty bytes of memory. */
export const MAX_MARKUP_CHARACTERS = 8_388_608;
/** Bytes decoded of plain text. A character has at most four bytes. */
export const MAX_PLAIN_TEXT_BYTES = 8_388_608;
/** Length of a stored text in UTF-16 code units. A longer text is truncated and marked as such. */
export const MAX_TEXT_CHARACTERS = 1_000_000;
/** Characters of a text, from its beginning, that are indexed for search. */
export const MAX_SEARCHED_CHARACTERS = 200_000;
export const MAX_LINKS = 2_000;
export const MAX_LINK_CHARACTERS = 2_000;
export const MAX_TITLE_CHARACTERS = 300;
/** Elements nested deeper than this are left out. */
export const MAX_ELEMENT_DEPTH = 500;
/** Time limit for extracting the text of one object. */
export const TEXT_TIMEOUT_MS = 30_000;

/** Returns the index before a surrogate pair if this index is inside one; otherwise the index itself. */
export function characterStart(text: string, at: number): number {
  return /[\ud800-\udbff]/.test(text.charAt(at - 1)) ? at - 1 : at;
}

/** Truncates a text to a number of UTF-16 code units without splitting a surrogate pair. */
export function truncateText(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : text.slice(0, characterStart(text, maxLength));
}
