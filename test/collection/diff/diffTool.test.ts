import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { DIFF_TOOL, versionWith } from '../../../server/collection/diff/diffs.ts';

test('the version of the tool names the installed libraries', () => {
  const { dependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<
    string,
    Record<string, string>
  >;
  const versions = { ...dependencies, ...devDependencies };
  const libraries = [
    'diff',
    'csv-parse',
    'pixelmatch',
    'pngjs',
    'jpeg-js',
    'cheerio',
    'json-p3',
    'html-to-text',
    'pdfjs-dist',
  ];
  for (const name of libraries) expect(DIFF_TOOL.version).toContain(`${name}.${versions[name]}`);
});

test('the version depends on the noise rules', () => {
  expect(new Set([null, 'a', 'b'].map(versionWith)).size).toBe(3);
});
