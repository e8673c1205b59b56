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

/** Stored and decoded bytes read of a page. */
export const MAX_PAGE_BYTES = 16_777_216;
/** Stored and decoded bytes read of a stylesheet. */
export const MAX_STYLESHEET_BYTES = 4_194_304;
/** Stored and decoded bytes of an image, font or recording that is put into a page. */
export const MAX_RESOURCE_BYTES = 8_388_608;
/** Characters that stylesheets, images, fonts and recordings may add to a page. */
export const MAX_ADDED_CHARACTERS = 33_554_432;
/** Stylesheets put into a page, imported ones included. */
export const MAX_STYLESHEETS = 200;
/** Addresses of images, fonts, stylesheets and recordings looked up for a page. */
export const MAX_RESOURCES = 2_000;
/** Addresses of links looked up for a page. */
export const MAX_LINKED_ADDRESSES = 2_000;
/** Longer addresses are not looked up. */
export const MAX_ADDRESS_CHARACTERS = 4_096;
/** Open elements of a page. A browser nests at most 512. */
export const MAX_OPEN_ELEMENTS = 1_000;
/** Attributes of one element. */
export const MAX_ATTRIBUTES = 500;
/** Time limit for one pass over a page. */
export const PASS_TIMEOUT_MS = 20_000;
/** Passes over a page. Each one may find addresses in the stylesheets that the last one found. */
export const MAX_PASSES = 7;
/** Characters of a page as it is shown. Elements that a parser repeats can make it far longer than the archived page. */
export const MAX_SHOWN_CHARACTERS = 67_108_864;
/** Addresses listed as missing. Longer ones than can be looked up are not listed. */
export const MAX_MISSING = 2_000;
