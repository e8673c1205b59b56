import { createContext, Script } from 'node:vm';
import type { MediaKind } from './mediaKind.ts';

/* Texts that are made of objects. */

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

/* Archived pages as they are shown. */

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

/* Comparisons. */

/** Versions larger than this, stored or decoded, are compared by their bytes. */
export const MAX_DIFF_MEGABYTES = 33;
/** Time limit for a comparison, plus the time for reading both versions at this speed. */
export const DIFF_TIMEOUT_MS = 25_000;
export const BYTES_PER_MS = 50_000;

/** Work was interrupted because it took too long. */
export class TimeLimitError extends Error {
  constructor(milliseconds: number) {
    super(`This took longer than ${milliseconds} ms.`);
    this.name = 'TimeLimitError';
  }
}

const context = createContext({ work: () => {} });
const script = new Script('work()');

/**
 * Runs synchronous work with a time limit. The watchdog of `vm` interrupts it anywhere, even within one regular
 * expression. Not a sandbox. Interrupted work may leave its changes half done, so it should only read and return.
 *
 * @throws TimeLimitError; whatever the work throws.
 */
export function withTimeLimit<Result>(milliseconds: number, work: () => Result): Result {
  const limit = Math.max(1, Math.ceil(milliseconds));
  let done: { result: Result } | undefined;
  context.work = () => {
    done = { result: work() };
  };
  try {
    script.runInContext(context, { timeout: limit });
  } catch (error) {
    throw isTimeout(error) ? new TimeLimitError(limit) : error;
  } finally {
    context.work = () => {};
  }
  if (!done) throw new Error('The work ended without a result.');
  return done.result;
}

/** The watchdog throws an Error of the other context, so `instanceof Error` is false. */
function isTimeout(error: unknown): boolean {
  const isObject = typeof error === 'object' && error !== null;
  return isObject && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}

const NAMES: Record<MediaKind, string> = {
  html: 'an HTML page',
  pdf: 'a PDF',
  json: 'JSON',
  csv: 'a table (CSV)',
  xml: 'XML',
  text: 'plain text',
  image: 'an image',
  other: 'an object of another kind',
};

/** Sentences that explain why a diff is limited or empty. */
export const REASONS = {
  differentKinds: (from: MediaKind, to: MediaKind) =>
    `The older version is ${NAMES[from]} and the newer one is ${NAMES[to]}, so their bytes are compared.`,
  onlyBytes: 'Objects of this kind are compared by their bytes.',
  tooLarge: (megabytes: number) =>
    `One of the versions is larger than ${megabytes} MB, so their bytes are compared.`,
  /** `cause` is a sentence without its full stop. */
  asBytes: (cause: string) => `${cause}, so the bytes are compared.`,
  asText: (cause: string) => `${cause}, so the versions are compared as plain text.`,
  tooSlow: 'Comparing the contents of the two versions took too long, so their bytes are compared.',
  tooMuchMemory:
    'Comparing the contents of the two versions took too much memory, so their bytes are compared.',
  toolFailed: 'The tool that reads such objects failed on these, so their bytes are compared.',
  allOutside: 'Nothing changed in the part of this source that is watched.',
  allNoise: 'Every change is ignored by the noise rules of this source.',
  sameText: 'The text is the same in both versions; only the markup or other bytes changed.',
  sameValues: 'The values are the same in both versions; only their notation changed.',
  sameCells: 'The cells are the same in both versions; only their notation changed.',
  sameCellsElsewhere: 'The cells are the same in both versions; only their order or their notation changed.',
  samePixels: 'Every pixel is the same in both versions; only the encoding of the image changed.',
  differentSizes: 'The two images have different sizes, so their pixels are not compared.',
  partOnly: 'Only the beginning of the versions was compared: they are too long or nested too deeply.',
  someLines: 'Too much changed to compare every word, so some passages are shown line by line.',
  tooDifferent:
    'The two versions have too little in common to be compared; only the beginning of each is shown.',
} as const;
