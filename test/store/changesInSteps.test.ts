import { afterEach, expect, test } from 'vitest';
import type { WriteDatabase } from '../../server/store/sqlite/engine/open.ts';
import { readSetting, writeSetting } from '../../server/store/sqlite/node/owner.ts';
import { openStore } from '../../server/store/store.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import { closeTestStores, openTestStore } from '../support/store.ts';

afterEach(async () => {
  await closeTestStores();
  await closeTestNodes();
});

/** Writes a setting, blocks for longer than one turn of the writer, and writes another. */
function* inTwoTurns(database: WriteDatabase): Generator<void, string, void> {
  writeSetting(database, 'first', 1);
  const until = performance.now() + 30;
  while (performance.now() < until);
  yield;
  writeSetting(database, 'second', 2);
  return 'both';
}

test('a change in steps yields to the event loop, and nobody sees a part of it', async () => {
  const folder = await temporaryFolder();
  const store = await openTestStore(folder);
  const order: string[] = [];
  const seen: unknown[] = [];
  store.onCommit(() => order.push('commit'));
  const stepped = store.writeInSteps(inTwoTurns).then((result) => order.push(result));
  const look = () => {
    seen.push([
      readSetting(store.read, 'first'),
      readSetting(store.read, 'first'),
      readSetting(store.read, 'second'),
    ]);
  };
  // Changes that arrive meanwhile follow in one transaction.
  const others: Promise<unknown>[] = [];
  await new Promise<void>((resolve) => {
    setImmediate(() =>
      setImmediate(() => {
        look();
        for (const name of ['third', 'fourth'])
          others.push(
            store.write((database) => writeSetting(database, name, 3)).then(() => order.push(name)),
          );
        resolve();
      }),
    );
  });
  await Promise.all([stepped, ...others]);
  look();
  expect(seen).toEqual([
    [undefined, undefined, undefined],
    [1, 1, 2],
  ]);
  expect(order).toEqual(['commit', 'both', 'commit', 'third', 'fourth']);
});

test('the event loop gets a turn between the last changes of a transaction and its commit', async () => {
  const store = await openTestStore(await temporaryFolder());
  const order: string[] = [];
  store.beforeCommit(() => {
    order.push('last change');
    setImmediate(() => order.push('turn'));
  });
  store.onCommit(() => order.push('commit'));
  await store.writeInSteps(inTwoTurns);
  expect(order).toEqual(['last change', 'turn', 'commit']);
});

test('a change in steps that fails leaves nothing, and later changes are written', async () => {
  const store = await openTestStore(await temporaryFolder());
  const lost = new Error('It fails in its second turn.');
  const failing = store.writeInSteps<never>(function* (database) {
    yield* inTwoTurns(database);
    throw lost;
  });
  const other = store.write((database) => writeSetting(database, 'third', 3));
  await expect(failing).rejects.toBe(lost);
  await other;
  expect(['first', 'second', 'third'].map((name) => readSetting(store.read, name))).toEqual([
    undefined,
    undefined,
    3,
  ]);
});

test('closing a store waits for a change in steps', async () => {
  const folder = await temporaryFolder();
  const store = await openStore({ folder, clock: systemClock });
  const stepped = store.writeInSteps(inTwoTurns);
  await store.close();
  expect(await stepped).toBe('both');
  expect(readSetting((await openTestStore(folder)).read, 'second')).toBe(2);
});
