/** So much of an object is read, and so many bytes may come out of its content encoding. */
export const MAX_BYTES_READ = 67_108_864;
/** So much of a marked-up document is parsed; each of its bytes may cost fifty in memory. */
export const MAX_MARKUP_CHARACTERS = 8_388_608;
/** So much of what is shown as it is, is decoded: a character has four bytes at most. */
export const MAX_PLAIN_TEXT_BYTES = 8_388_608;
/** So long a text is kept (UTF-16 code units); the rest of a longer one is left out, and the document says so. */
export const MAX_TEXT_CHARACTERS = 1_000_000;
/** So much of a text, from its beginning, is found by a search. */
export const MAX_SEARCHED_CHARACTERS = 200_000;
export const MAX_LINKS = 2_000;
export const MAX_LINK_CHARACTERS = 2_000;
export const MAX_TITLE_CHARACTERS = 300;
/** Elements within elements deeper than this are left out. */
export const MAX_ELEMENT_DEPTH = 500;
/** How long the text of one object may take to make. */
export const TEXT_TIMEOUT_MS = 30_000;
