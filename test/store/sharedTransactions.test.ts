import { afterEach, expect, test } from 'vitest';
import { addPack } from '../../server/archive/packs/addPack.ts';
import { verifyPack } from '../../server/archive/packs/comparePacks.ts';
import { readHead } from '../../server/ledger/appendEntry.ts';
import type { WriteDatabase } from '../../server/store/sqlite/engine/open.ts';
import { createBlobRowIfAbsent } from '../../server/store/sqlite/node/blobs.ts';
import { readSetting, writeSetting } from '../../server/store/sqlite/node/owner.ts';
import { openStore, type Store } from '../../server/store/store.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { filesOf, sampleRecord, sha256Of } from '../support/archive/packs.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import { closeTestStores, openTestStore } from '../support/store.ts';

afterEach(async () => {
  await closeTestStores();
  await closeTestNodes();
});

async function add(store: Store, number: number) {
  const content = `The content of pack ${number}.`;
  const blob = await store.blobs.staging.stage([Buffer.from(content)], 1_000);
  const record = sampleRecord({ title: `Pack ${number}`, files: filesOf({ 'a.txt': content }) });
  return addPack(store, { record, staged: new Map([['a.txt', blob]]) });
}

test('packs added concurrently are each recorded completely and once; a failure undoes only its own pack', async () => {
  const store = await openTestStore(await temporaryFolder());
  const lost = new Error('The change fails after it wrote its rows.');
  const failing: Store = {
    ...store,
    write: (change) =>
      store.write((database) => {
        change(database);
        throw lost;
      }),
  };
  const numbers = Array.from({ length: 40 }, (_, number) => number);
  const outcomes = await Promise.allSettled(
    numbers.map((number) => add(number % 10 === 0 ? failing : store, number)),
  );
  for (const [number, outcome] of outcomes.entries()) {
    if (number % 10 === 0) expect(outcome).toEqual({ status: 'rejected', reason: lost });
    else expect(outcome).toMatchObject({ status: 'fulfilled', value: { created: true } });
  }
  expect(readHead(store.read).seq).toBe(36);
  for (const outcome of outcomes) {
    if (outcome.status === 'fulfilled')
      expect(await verifyPack(store, outcome.value.id)).toMatchObject({ ok: true });
  }
});

test('a record sent many times concurrently is recorded once, and every request gets it', async () => {
  const store = await openTestStore(await temporaryFolder());
  const added = await Promise.all(Array.from({ length: 12 }, () => add(store, 1)));
  expect(added.filter(({ created }) => created)).toHaveLength(1);
  expect(new Set(added.map(({ text }) => text)).size).toBe(1);
  expect(readHead(store.read).seq).toBe(1);
});

test('closing a store makes the queued changes durable first', async () => {
  const folder = await temporaryFolder();
  const store = await openStore({ folder, clock: systemClock });
  const written = Promise.all(
    Array.from({ length: 50 }, (_, number) => store.write((db) => writeSetting(db, `s${number}`, number))),
  );
  await store.close();
  await written;
  const again = await openTestStore(folder);
  for (let number = 0; number < 50; number += 1) expect(readSetting(again.read, `s${number}`)).toBe(number);
});

test('reads before a write see only committed data, even during a change', async () => {
  const store = await openTestStore(await temporaryFolder());
  await store.write((database) => {
    writeSetting(database, 'name', 'not yet');
    expect(readSetting(store.read, 'name')).toBeUndefined();
  });
  expect(readSetting(store.read, 'name')).toBe('not yet');
});

/** The digests of some objects, in no order. */
const digests = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => sha256Of(`object ${from + index}`));

/** Adds a row for each digest. The table has triggers. */
function* addBlobs(database: WriteDatabase, added: readonly string[]): Generator<void, void, void> {
  for (const sha256 of added) {
    createBlobRowIfAbsent(database, { sha256, bytes: 1, stored_at: '2026-01-01T00:00:00.000Z' });
    yield;
  }
}

/** The microseconds of processor time that this thread uses. */
async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  const begin = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(begin);
  return user + system;
}

test('a change of thousands of rows takes about as long as the same change in steps, which has no savepoint', async () => {
  const store = await openTestStore(await temporaryFolder());
  const inOneGo = (added: readonly string[]) =>
    store.write((database) => void [...addBlobs(database, added)]);
  await store.writeInSteps((database) => addBlobs(database, digests(0, 60_000)));
  const inSteps = await cpuOf(() =>
    store.writeInSteps((database) => addBlobs(database, digests(60_000, 5_000))),
  );
  const oneGo = await cpuOf(() => inOneGo(digests(65_000, 5_000)));
  expect(oneGo).toBeLessThan(4 * inSteps);
});
