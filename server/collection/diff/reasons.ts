import type { MediaKind } from '../derived/mediaKind.ts';

const NAMES: Record<MediaKind, string> = {
  html: 'an HTML page',
  pdf: 'a PDF',
  json: 'JSON',
  csv: 'a table (CSV)',
  xml: 'XML',
  text: 'plain text',
  image: 'an image',
  other: 'of a kind that is only compared by its bytes',
};

/** The sentences that a diff says of itself, where it is not what one would expect of its two objects. */
export const REASONS = {
  differentKinds: (from: MediaKind, to: MediaKind) =>
    `The older version is ${NAMES[from]} and the newer one is ${NAMES[to]}, so their bytes are compared.`,
  onlyBytes: 'Objects of this kind are compared by their bytes.',
  tooLarge: (megabytes: number) =>
    `One of the versions is larger than ${megabytes} MB, so their bytes are compared.`,
  /** `what` is a sentence without its full stop. */
  asBytes: (what: string) => `${what}, so the bytes are compared.`,
  asText: (what: string) => `${what}, so the versions are compared as plain text.`,
  tooSlow: 'Comparing what the two versions say took too long, so their bytes are compared.',
  tooMuchMemory: 'Comparing what the two versions say took too much memory, so their bytes are compared.',
  toolFailed: 'The tool that reads such objects failed on these, so their bytes are compared.',
  allNoise: 'All that changed is left out by the rules of this source.',
  sameText: 'The text is the same in both versions; what changed is in the markup or in the bytes behind it.',
  sameValues: 'The values are the same in both versions; what changed is how they are written.',
  sameCells: 'The cells are the same in both versions; what changed is how they are written.',
  samePixels: 'Every pixel is the same in both versions; what changed is in the bytes behind them.',
  differentSizes: 'The two images are not of the same size, so their pixels are not compared.',
  partOnly: 'Only the beginning of the versions was compared: they are too long or nested too deeply.',
  someLines: 'Too much changed to compare every word, so such passages are shown line by line.',
  tooDifferent: 'The two versions have too little in common to be compared; the beginning of each is shown.',
} as const;
