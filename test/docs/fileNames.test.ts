import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const ARCHITECTURE = 'docs/architecture.md';
const CODE = /`([^`\n]+)`/g;
const FILE = /^[\w./-]+\.(?:tsx?|css|mjs)$/;

const linesOf = (document: string) => readFileSync(join(ROOT, document), 'utf8').split('\n');

/**
 * Returns the files that a document names and that do not exist. A name is relative to the checkout, to `server/`, or to
 * the folder of the file before it in its line.
 */
function missingFiles(document: string): string[] {
  return linesOf(document).flatMap((line) => {
    let folder = '';
    return [...line.matchAll(CODE)].flatMap(([, name = '']) => {
      if (!FILE.test(name)) return [];
      const found = [name, join('server', name), join(folder, name)].find((path) =>
        existsSync(join(ROOT, path)),
      );
      if (found === undefined) return [name];
      folder = dirname(found);
      return [];
    });
  });
}

/** Decisions and the changelog also name what was removed. */
const DOCUMENTS = globSync(['*.md', 'docs/*.md', 'docs/internals/*.md'], { cwd: ROOT })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => path !== 'CHANGELOG.md');

test('every file of the code that the documentation names exists', () => {
  expect(DOCUMENTS).toEqual(expect.arrayContaining([ARCHITECTURE, 'CONTRIBUTING.md']));
  const missing = DOCUMENTS.map((document) => [document, missingFiles(document)]);
  expect(Object.fromEntries(missing)).toEqual(
    Object.fromEntries(DOCUMENTS.map((document) => [document, []])),
  );
});

test('docs/architecture.md names every folder', () => {
  const text = linesOf(ARCHITECTURE).join('\n');
  const folders = ['server/*/', 'server/{archive,collection,http,store}/*/', 'renderer/src/*/'].flatMap(
    (pattern) => globSync(pattern, { cwd: ROOT }).map((path) => path.replaceAll('\\', '/')),
  );
  expect(folders.length).toBeGreaterThan(40);
  const isNamed = (path: string) =>
    new RegExp(`(?<![\\w-])${path.replace(/\/$/, '').split('/').at(-1)}/`).test(text);
  expect(folders.filter((path) => !isNamed(path))).toEqual([]);
});

test('docs/architecture.md fits on three screens', () => {
  expect(linesOf(ARCHITECTURE).length).toBeLessThanOrEqual(126);
});
