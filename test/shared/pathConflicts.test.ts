import fc from 'fast-check';
import { expect, test } from 'vitest';
import { foldedPath, pathConflicts } from '../../shared/archive/filePath.ts';

test.each([
  [['a', 'b', 'a/b'], [{ index: 0, other: 2, kind: 'folder' }]],
  [['Notes.txt', 'notes.TXT'], [{ index: 1, other: 0, kind: 'same' }]],
  [['a.b', 'a', 'a b/c', 'a/b'], [{ index: 1, other: 3, kind: 'folder' }]],
  [['A/x', 'a/y'], []],
  [[], []],
])('conflicting paths are found: %j', (paths, conflicts) => {
  expect(pathConflicts(paths)).toEqual(conflicts);
});

test('the result equals a comparison of every pair of paths', () => {
  const path = fc.array(fc.constantFrom('a', 'A', 'b', 'a.', 'é', 'e\u0301'), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(
      fc.array(
        path.map((segments) => segments.join('/')),
        { maxLength: 8 },
      ),
      (paths) => {
        const folded = paths.map(foldedPath);
        const isConflict = folded.some((one, index) =>
          folded.some((other, place) => place !== index && (other === one || other.startsWith(`${one}/`))),
        );
        expect(pathConflicts(paths).length > 0).toBe(isConflict);
      },
    ),
  );
});
