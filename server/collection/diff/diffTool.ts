import { TEXT_TOOLS } from '../derived/extract/textTools.ts';

/** Diffs of HTML and PDF use the extracted texts, so they depend on the versions of those tools. */
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
 * The tool that makes diffs. A change to the output must raise the first number: diffs of other versions are then made
 * again. A test compares the libraries' versions with `package.json`.
 */
export const DIFF_TOOL = {
  name: 'strongroom-diff',
  version: `3+${[...LIBRARIES, ...TEXTS].join('.')}`,
} as const;

/** Returns the version under which a diff is stored. It includes the noise rules, because they change the diff. */
export function versionWith(rulesDigest: string | null): string {
  return rulesDigest === null ? DIFF_TOOL.version : `${DIFF_TOOL.version}.rules.${rulesDigest}`;
}
