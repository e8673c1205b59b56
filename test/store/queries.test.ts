import { afterEach, beforeEach, expect, test } from 'vitest';
import { openForWriting, type WriteDatabase } from '../../server/store/sqlite/engine/open.ts';
import {
  all,
  change,
  count,
  countRows,
  hasRow,
  inserts,
  one,
  page,
  run,
  selectAll,
  selectEach,
  selectOne,
  selectPage,
  selectTuples,
  selectValue,
  selectValues,
  updates,
  upserts,
} from '../../server/store/sqlite/engine/queries.ts';

let database: WriteDatabase;
beforeEach(() => {
  database = openForWriting(':memory:');
  database.exec('CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT, size INTEGER)');
  for (let id = 1; id <= 5; id += 1) insertThing(database, { id, name: `thing ${id}`, size: id % 2 });
});
const insertThing = inserts<Thing & { size: number }>('things', 'id, name, size');
afterEach(() => {
  database.close();
});

test('rows are read by position and by name', () => {
  expect(one(database, 'SELECT name FROM things WHERE id = ?', 3)).toEqual({ name: 'thing 3' });
  expect(one(database, 'SELECT name FROM things WHERE id = $id', { id: 9 })).toBeUndefined();
  expect(all(database, 'SELECT id FROM things WHERE size = ? ORDER BY id', 1)).toHaveLength(3);
  expect(count(database, 'things WHERE size = ?', 0)).toBe(2);
});

test('a page has its rows and the number of all rows', () => {
  const odd = { columns: 'id', from: 'things WHERE size = ?', order: 'id DESC', values: [1] };
  expect(page(database, odd, { limit: 2, offset: 1 })).toEqual({ items: [{ id: 3 }, { id: 1 }], total: 3 });
  const named = { columns: 'id', from: 'things WHERE size = $size', order: 'id', values: [{ size: 0 }] };
  expect(page(database, named, { limit: 1, offset: 5 })).toEqual({ items: [], total: 2 });
});

test('a row is replaced where its key exists', () => {
  const put = upserts<Thing & { size: number }>('things', { key: 'id', columns: 'name, size' });
  put(database, { id: 1, name: 'renamed', size: 7 });
  put(database, { id: 6, name: 'new', size: 8 });
  expect(all(database, 'SELECT * FROM things WHERE size > 1 ORDER BY id')).toEqual([
    { id: 1, name: 'renamed', size: 7 },
    { id: 6, name: 'new', size: 8 },
  ]);
  expect(run(database, 'DELETE FROM things WHERE id > ?', 4)).toBe(2);
});

interface Thing {
  id: number;
  name: string;
}

test('a declared query is a function of its values', () => {
  const thing = selectOne<Thing, [id: number]>('SELECT id, name FROM things WHERE id = ?');
  expect(thing(database, 2)).toEqual({ id: 2, name: 'thing 2' });
  expect(thing(database, 9)).toBeUndefined();
  const named = selectAll<Thing, [{ size: number }], string>(
    'SELECT id, name FROM things WHERE size = $size ORDER BY id',
    ({ name }) => name.toUpperCase(),
  );
  expect(named(database, { size: 0 })).toEqual(['THING 2', 'THING 4']);
  const ids = selectValues<number>('SELECT id FROM things ORDER BY id');
  expect(ids(database)).toEqual([1, 2, 3, 4, 5]);
  expect([...selectEach<Thing>('SELECT id, name FROM things WHERE id > 4')(database)]).toHaveLength(1);
  expect(countRows<[size: number]>('things WHERE size = ?')(database, 1)).toBe(3);
  expect(hasRow<[id: number]>('SELECT 1 FROM things WHERE id = ?')(database, 9)).toBe(false);
});

test('queries with the same SQL read whole rows, arrays or the first column', () => {
  const sql = 'SELECT id, name FROM things WHERE id < 3 ORDER BY id';
  const [rows, tuples, ids] = [selectAll<Thing>(sql), selectTuples<[number, string]>(sql), selectValues(sql)];
  for (let round = 0; round < 2; round += 1) {
    expect(ids(database)).toEqual([1, 2]);
    expect(rows(database)[1]).toEqual({ id: 2, name: 'thing 2' });
    expect(tuples(database)[0]).toEqual([1, 'thing 1']);
    expect(rows(database)[0]).toEqual({ id: 1, name: 'thing 1' });
  }
});

test('a list is bound as JSON', () => {
  const among = selectValues<number, [ids: readonly number[]]>(
    'SELECT id FROM things WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id',
  );
  expect(among(database, [5, 1, 9])).toEqual([1, 5]);
});

test('a value that is missing or NULL is undefined, or what is declared for it', () => {
  run(database, 'UPDATE things SET size = NULL WHERE id = 1');
  const size = 'SELECT size FROM things WHERE id = ?';
  const sizeOf = selectValue<number, [id: number]>(size);
  const sizeOr = selectValue<number, [id: number]>(size, -1);
  expect([1, 2, 9].map((id) => sizeOf(database, id))).toEqual([undefined, 0, undefined]);
  expect([1, 2, 9].map((id) => sizeOr(database, id))).toEqual([-1, 0, -1]);
});

test('a page of a declared list has its items and the number of all rows', () => {
  const things = selectPage<Thing, [size: number], string>(
    { columns: 'id, name', from: 'things WHERE size = ?', order: 'id DESC' },
    ({ name }) => name,
  );
  expect(things(database, { limit: 1, offset: 1 }, 1)).toEqual({ items: ['thing 3'], total: 3 });
});

test('rows are inserted and changed', () => {
  inserts<Thing>('things', 'id, name')(database, { id: 6, name: 'new' });
  expect(inserts('things', 'name')(database, { name: 'newest' })).toBe(7);
  const rename = change<[name: string, id: number]>('UPDATE things SET name = ? WHERE id = ?');
  expect([rename(database, 'renamed', 6), rename(database, 'renamed', 99)]).toEqual([1, 0]);
  updates('things', { key: 'id', columns: 'name, size' })(database, { id: 7, name: 'last', size: 7 });
  expect(all(database, 'SELECT * FROM things WHERE id > 5')).toEqual([
    { id: 6, name: 'renamed', size: null },
    { id: 7, name: 'last', size: 7 },
  ]);
});
