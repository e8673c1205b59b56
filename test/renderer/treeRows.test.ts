import { expect, test } from 'vitest';
import { treeRows } from '../../renderer/src/components/data/FileTree.tsx';

const items = ['b.txt', 'a/10.txt', 'a/9.txt', 'c/d/e.txt'].map((path) => ({ key: path, path }));
const outline = (closed: string[] = []) =>
  treeRows(items, new Set(closed)).map(({ level, name, position, siblings }) => [
    level,
    name,
    `${position} of ${siblings}`,
  ]);

test('paths form a tree: folders first, numbers in order, and lone folders joined', () => {
  expect(outline()).toEqual([
    [1, 'a', '1 of 3'],
    [2, '9.txt', '1 of 2'],
    [2, '10.txt', '2 of 2'],
    [1, 'c/d', '2 of 3'],
    [2, 'e.txt', '1 of 1'],
    [1, 'b.txt', '3 of 3'],
  ]);
});

test('a closed folder hides its files, and still counts them', () => {
  expect(outline(['a/', 'c/d/'])).toEqual([
    [1, 'a', '1 of 3'],
    [1, 'c/d', '2 of 3'],
    [1, 'b.txt', '3 of 3'],
  ]);
  expect(treeRows(items, new Set(['a/']))[0]).toMatchObject({ isOpen: false, items: { length: 2 } });
});
