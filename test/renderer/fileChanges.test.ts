import { expect, test } from 'vitest';
import { type DraftFile, fileItems } from '../../renderer/src/pages/assemble/files/draftFile.ts';

function draftFile(path: string, sha256: string | undefined, bytes = 1): DraftFile {
  return {
    id: `id of ${path}`,
    path,
    mediaType: 'text/plain',
    bytes,
    file: new File(['x'], path),
    isStored: false,
    savedPath: undefined,
    sha256,
    hashed: 0,
    error: undefined,
    isRefused: false,
  };
}

const before = (path: string, sha256: string) => ({ path, sha256, bytes: 1, media_type: 'text/plain' });
const changesOf = (files: DraftFile[], previous: ReturnType<typeof before>[]) =>
  fileItems(files, previous).map(({ path, change }) => [path, change]);

test('the files of a draft are compared with those of the previous version', () => {
  const files = [
    draftFile('same.txt', 'a'),
    draftFile('changed.txt', 'b'),
    draftFile('longer.txt', undefined, 2),
    draftFile('hashing.txt', undefined),
    draftFile('added.txt', 'c'),
  ];
  const previous = ['same.txt', 'changed.txt', 'longer.txt', 'hashing.txt', 'removed.txt'].map((path) =>
    before(path, 'a'),
  );
  expect(changesOf(files, previous)).toEqual([
    ['same.txt', 'same'],
    ['changed.txt', 'changed'],
    ['longer.txt', 'changed'],
    // Of the same size: only the digest shows it.
    ['hashing.txt', undefined],
    ['added.txt', 'added'],
    ['removed.txt', 'removed'],
  ]);
});

test('the files of a first version have no changes', () => {
  expect(changesOf([draftFile('a.txt', 'a')], [])).toEqual([['a.txt', undefined]]);
});
