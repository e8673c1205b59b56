import { createContext, Script } from 'node:vm';
import type { MediaKind } from '../derived/mediaKind.ts';

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
  samePixels: 'Every pixel is the same in both versions; only the encoding of the image changed.',
  differentSizes: 'The two images have different sizes, so their pixels are not compared.',
  partOnly: 'Only the beginning of the versions was compared: they are too long or nested too deeply.',
  someLines: 'Too much changed to compare every word, so some passages are shown line by line.',
  tooDifferent:
    'The two versions have too little in common to be compared; only the beginning of each is shown.',
} as const;
