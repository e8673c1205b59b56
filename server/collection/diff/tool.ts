import { TEXT_TOOLS } from '../derived/tools.ts';

/** What of the texts of HTML and PDF a diff rests on: their rules and libraries. */
const TEXTS = [TEXT_TOOLS.html, TEXT_TOOLS.pdf].map(({ toolVersion }) => toolVersion.replace('+', '.'));
const LIBRARIES = [
  'diff.9.0.0',
  'csv-parse.7.0.3',
  'pixelmatch.7.2.0',
  'pngjs.7.0.0',
  'jpeg-js.0.4.4',
  'cheerio.1.2.0',
  'json-p3.2.3.1',
];

/**
 * What makes diffs. Whoever changes what a diff says raises the first number: diffs of other versions are then made
 * anew. A test holds the libraries' versions to `package.json`.
 */
export const DIFF_TOOL = {
  name: 'strongroom-diff',
  version: `1+${[...LIBRARIES, ...TEXTS].join('.')}`,
} as const;

/** The version under which a diff is kept: with other rules it would be another diff. */
export function versionWith(rulesDigest: string | null): string {
  return rulesDigest === null ? DIFF_TOOL.version : `${DIFF_TOOL.version}.rules.${rulesDigest}`;
}
