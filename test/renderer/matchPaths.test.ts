import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { matchPaths, suggestedTitle } from '../../renderer/src/pages/assemble/files/matchPaths.ts';
import { foldedPath, pathConflicts } from '../../shared/archive/filePath.ts';

const segment = fc
  .stringMatching(/^[a-zà-ÿ0-9][a-zà-ÿ0-9 _-]{0,6}[a-z0-9]$/)
  .map((text) => text.normalize('NFC'));
/** A folder name occurs once in a path: otherwise its files could have come from two places. */
const path = fc
  .uniqueArray(segment, { minLength: 1, maxLength: 4, selector: foldedPath })
  .map((segments) => segments.join('/'));
/** The files of a pack: paths that can all be in one folder on every system. */
const pack = fc
  .uniqueArray(path, { minLength: 1, maxLength: 20, selector: foldedPath })
  .filter((paths) => pathConflicts(paths).length === 0);
const part = pack.chain((known) => fc.tuple(fc.constant(known), fc.subarray(known, { minLength: 1 })));
/** Folders that no pack has. */
const newFolder = fc.constantFrom('upd-x', 'upd-x/upd-y', 'upd-x/upd-y/upd-z');

/** How other systems write the same path. */
const spellings: [string, (path: string) => string][] = [
  ['in normal form D', (path) => path.normalize('NFD')],
  ['in upper case', (path) => path.toUpperCase()],
  ['below ./', (path) => `./${path}`],
  ['with Windows separators', (path) => path.replaceAll('/', '\\')],
  ['with doubled separators', (path) => path.replaceAll('/', '//')],
];

describe('the files of a new version', () => {
  test('are matched by path, whatever folder they were dropped in', () => {
    fc.assert(
      fc.property(part, newFolder, ([known, dropped], folder) => {
        expect(
          matchPaths(
            dropped.map((path) => `${folder}/${path}`),
            known,
          ),
        ).toEqual(dropped);
      }),
    );
  });

  test('are matched without the folder that the pack has around all of its files', () => {
    fc.assert(
      fc.property(part, newFolder, ([known, dropped], folder) => {
        const around = (path: string) => `${folder}/${path}`;
        expect(matchPaths(dropped, known.map(around))).toEqual(dropped.map(around));
      }),
    );
  });

  test.each(spellings)('are matched when they are written %s', (_what, spelled) => {
    fc.assert(
      fc.property(part, ([known, dropped]) => {
        expect(matchPaths(dropped.map(spelled), known)).toEqual(dropped);
        expect(
          matchPaths(
            dropped.map((path) => spelled(`upd-x/${path}`)),
            known,
          ),
        ).toEqual(dropped);
      }),
    );
  });

  test('get the same path only if their dropped paths are the same', () => {
    fc.assert(
      fc.property(pack, fc.uniqueArray(path, { selector: foldedPath, maxLength: 20 }), (known, dropped) => {
        const targets = matchPaths(dropped, known);
        expect(new Set(targets.map(foldedPath)).size).toBe(dropped.length);
      }),
    );
  });

  test('stay where they are in a first version', () => {
    fc.assert(
      fc.property(pack, (dropped) => {
        expect(matchPaths(dropped, [])).toEqual(dropped);
      }),
    );
  });

  test.each([
    ['a corrected file and a new one move together', ['upd/a.csv', 'upd/new/b.csv'], ['a.csv', 'new/b.csv']],
    ['a folder of the pack stays, even with new files only', ['raw/new.txt'], ['raw/new.txt']],
    ['a folder without any match stays', ['other/x.txt'], ['other/x.txt']],
    ['single files are matched at the top', ['a.csv', 'new.csv'], ['a.csv', 'new.csv']],
    ['a duplicate has the same path', ['upd/a.csv', './upd/A.CSV'], ['a.csv', 'a.csv']],
    ['two folders do not replace the same file', ['one/a.csv', 'two/a.csv'], ['a.csv', 'two/a.csv']],
  ])('%s', (_what, dropped, expected) => {
    expect(matchPaths(dropped, ['a.csv', 'raw/day 1.txt', 'raw/day 2.txt'])).toEqual(expected);
  });

  test('5,000 files are matched', () => {
    const known = Array.from({ length: 5_000 }, (_, index) => `data/${index % 50}/file ${index}.txt`);
    const dropped = known.map((path) => `upd/${path}`);
    expect(matchPaths(dropped, known)).toEqual(known);
  });
});

test.each([
  [['sea-level_2026/a.csv', 'sea-level_2026/raw/b.csv'], 'Sea level 2026'],
  [['tides 2026-11-22/a.csv'], 'Tides 2026-11-22'],
  [['éclairs/a.csv'], 'Éclairs'],
  [['tide_levels.v2.csv'], 'Tide levels.v2'],
  [['README'], 'README'],
  [['.env'], '.env'],
  [['a.csv', 'b.csv'], undefined],
  [['one/a.csv', 'two/b.csv'], undefined],
  [['__/a.csv'], undefined],
  [[], undefined],
])('the title of %j is %s', (paths, title) => {
  expect(suggestedTitle(paths)).toBe(title);
});
