import { afterEach, beforeEach, expect, test } from 'vitest';
import { commitScopedCache } from '../../server/store/commitScopedCache.ts';
import { readSetting, writeSetting } from '../../server/store/sqlite/node/settings.ts';
import { openStore, type Store } from '../../server/store/store.ts';
import { systemClock } from '../../shared/clock.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';

let store: Store;
let looks: string[];
let remembered: (key: string) => { value: unknown };

beforeEach(async () => {
  store = await openStore({ folder: await temporaryFolder(), clock: systemClock });
  looks = [];
  remembered = commitScopedCache(store, 2, (key) => {
    looks.push(key);
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

test('what was looked up is looked up again only after a commit, whoever waited for it', async () => {
  await set('a', 1);
  expect([remembered('a'), remembered('a')]).toEqual([{ value: 1 }, { value: 1 }]);
  expect(looks).toEqual(['a']);
  await set('a', 2);
  expect(remembered('a')).toEqual({ value: 2 });
  await set('b', 1);
  expect(remembered('a')).toEqual({ value: 2 });
  expect(looks).toEqual(['a', 'a', 'a']);
});

test('a change that is refused leaves what is remembered', async () => {
  await set('a', 1);
  remembered('a');
  const refused = store.write((database) => {
    writeSetting(database, 'a', 2);
    throw new Error('Refused.');
  });
  await expect(refused).rejects.toThrow('Refused.');
  expect(remembered('a')).toEqual({ value: 1 });
});

test('a failure is not remembered', () => {
  for (const _time of [1, 2]) expect(() => remembered('none')).toThrow('There is none.');
  expect(looks).toEqual(['none', 'none']);
});

test('no more than so many are remembered; the oldest are forgotten first', () => {
  for (const key of ['a', 'b', 'c', 'c', 'b', 'a']) remembered(key);
  expect(looks).toEqual(['a', 'b', 'c', 'a']);
});
