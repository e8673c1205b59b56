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
