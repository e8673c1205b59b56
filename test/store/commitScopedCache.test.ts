import { afterEach, beforeEach, expect, test } from 'vitest';
import { commitScopedCache } from '../../server/store/commitScopedCache.ts';
import { readSetting, writeSetting } from '../../server/store/sqlite/node/settings.ts';
import { openStore, type Store } from '../../server/store/store.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';

let store: Store;
let lookups: string[];
let cached: (key: string) => { value: unknown };

beforeEach(async () => {
  store = await openStore({ folder: await temporaryFolder(), clock: systemClock });
  lookups = [];
  cached = commitScopedCache(store, 2, (key) => {
    lookups.push(key);
    if (key === 'none') throw new Error('There is none.');
    return { value: readSetting(store.read, key) };
  });
});
afterEach(async () => {
  await store.close();
  await closeTestNodes();
});

const set = (key: string, value: unknown) =>
  store.write((database) => {
    writeSetting(database, key, value);
  });

test('a cached value is looked up again only after a commit', async () => {
  await set('a', 1);
  expect([cached('a'), cached('a')]).toEqual([{ value: 1 }, { value: 1 }]);
  expect(lookups).toEqual(['a']);
  await set('a', 2);
  expect(cached('a')).toEqual({ value: 2 });
  await set('b', 1);
  expect(cached('a')).toEqual({ value: 2 });
  expect(lookups).toEqual(['a', 'a', 'a']);
});

test('a refused change does not clear the cache', async () => {
  await set('a', 1);
  cached('a');
  const refused = store.write((database) => {
    writeSetting(database, 'a', 2);
    throw new Error('Refused.');
  });
  await expect(refused).rejects.toThrow('Refused.');
  expect(cached('a')).toEqual({ value: 1 });
});

test('errors are not cached', () => {
  for (const _time of [1, 2]) expect(() => cached('none')).toThrow('There is none.');
  expect(lookups).toEqual(['none', 'none']);
});

test('the oldest entry is evicted when the cache is full', () => {
  for (const key of ['a', 'b', 'c', 'c', 'b', 'a']) cached(key);
  expect(lookups).toEqual(['a', 'b', 'c', 'a']);
});
