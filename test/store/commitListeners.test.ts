import { afterEach, expect, test } from 'vitest';
import type { Warn } from '../../server/store/opening/headFile.ts';
import { readSetting, writeSetting } from '../../server/store/sqlite/node/owner.ts';
import { openStore, type Store } from '../../server/store/store.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';

const open: Store[] = [];
afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
  await closeTestNodes();
});

async function opened(warn?: Warn): Promise<Store> {
  const store = await openStore({ folder: await temporaryFolder(), clock: systemClock, warn });
  open.push(store);
  return store;
}

test('a listener that throws neither keeps others from being notified nor drops a change', async () => {
  const warned: object[] = [];
  const store = await opened((details) => warned.push(details));
  const lost = new Error('The listener fails.');
  store.onCommit(() => {
    throw lost;
  });
  let commits = 0;
  store.onCommit(() => (commits += 1));
  await store.write((database) => writeSetting(database, 'first', 1));
  expect(commits).toBe(1);
  await Promise.all([
    store.writeInSteps(function* (database) {
      writeSetting(database, 'second', 2);
      yield;
    }),
    store.writeInSteps(function* (database) {
      writeSetting(database, 'third', 3);
      yield;
    }),
  ]);
  expect(commits).toBe(3);
  expect(readSetting(store.read, 'third')).toBe(3);
  expect(warned).toEqual([{ error: lost }, { error: lost }, { error: lost }]);
});

test('a reservation that cannot be released does not keep other changes from being answered', async () => {
  const warned: object[] = [];
  const store = await opened((details) => warned.push(details));
  const failing = store.write((database) => writeSetting(database, 'first', 1), {
    reservation: {
      release: () => {
        throw new Error('The reservation fails.');
      },
    },
  });
  const other = store.write((database) => writeSetting(database, 'second', 2));
  await Promise.all([failing, other]);
  expect(warned).toHaveLength(1);
});

test('beforeCommit changes are part of the commit, for shared changes and changes in steps', async () => {
  const store = await opened();
  let commits = 0;
  const stop = store.beforeCommit((database) => writeSetting(database, 'commits', (commits += 1)));
  await store.write((database) => writeSetting(database, 'first', 1));
  expect(readSetting(store.read, 'commits')).toBe(1);
  await store.writeInSteps(function* (database) {
    writeSetting(database, 'second', 2);
    yield;
    writeSetting(database, 'third', 3);
    yield;
  });
  expect(readSetting(store.read, 'commits')).toBe(2);
  stop();
  await store.write((database) => writeSetting(database, 'fourth', 4));
  expect(readSetting(store.read, 'commits')).toBe(2);
});

test('a beforeCommit change that throws refuses the whole transaction; later changes are written', async () => {
  const store = await opened();
  const refusal = new Error('This may not be committed.');
  const stop = store.beforeCommit(() => {
    throw refusal;
  });
  const shared = ['first', 'second'].map((name) =>
    store.write((database) => writeSetting(database, name, 1)),
  );
  const stepped = store.writeInSteps(function* (database) {
    writeSetting(database, 'third', 3);
    yield;
  });
  const outcomes = await Promise.allSettled([...shared, stepped]);
  expect(outcomes).toEqual(outcomes.map(() => ({ status: 'rejected', reason: refusal })));
  expect(store.failure()).toBeUndefined();
  stop();
  await store.write((database) => writeSetting(database, 'fourth', 4));
  expect(['first', 'second', 'third', 'fourth'].map((name) => readSetting(store.read, name))).toEqual([
    undefined,
    undefined,
    undefined,
    4,
  ]);
});
