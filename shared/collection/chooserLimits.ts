/*
 * What the script in an archived page shares with the node and the interface. Without schemas, so that the script stays
 * small: it stands in every page in which something is chosen.
 */

/** Where the frame moves from the element that it shows. */
export const CHOOSER_MOVES = ['around', 'inside', 'before', 'after', 'beneath'] as const;

/** The most that is said about an element that is shown. */
export const MAX_SHOWN_NAME = 60;
export const MAX_SHOWN_TEXT = 120;

/** The most ways to name an element that are tried. */
export const MAX_CANDIDATES = 16;
/** How much of an element's text is compared, without white space. */
export const MAX_COMPARED_TEXT = 500;

/** Elements whose text is not shown. */
export const UNSEEN_ELEMENT = /^(head|script|style|noscript|template)$/;
/** Elements that begin and end a line of the text. */
export const BLOCK_ELEMENT =
  /^(address|article|aside|blockquote|body|br|caption|d[dlt]|details|div|fieldset|fig(caption|ure)|footer|form|h[1-6r]|header|legend|li|main|nav|[ou]l|option|p|pre|section|summary|table|t[dhr])$/;
