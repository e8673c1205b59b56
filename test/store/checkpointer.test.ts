import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { statement } from '../../server/store/sqlite/open.ts';
import { openStore, type Store } from '../../server/store/store.ts';
import { systemClock } from '../../shared/clock.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';

let open: Store | undefined;
afterEach(async () => {
  await open?.close();
  open = undefined;
  await closeTestNodes();
});

async function openTestStore(folder: string): Promise<Store> {
  open = await openStore({ folder, clock: systemClock });
  return open;
}

const ROW = 'x'.repeat(100_000);

/** Writes so many rows of 100 kB, each in a transaction of its own. */
async function writeRows(store: Store, count: number): Promise<void> {
  for (let row = 0; row < count; row += 1) {
    await store.write((database) => {
      statement(database, 'INSERT INTO settings VALUES (?, ?)').run(`row ${row}`, ROW);
    });
  }
}

const bytesOf = (store: Store) => statSync(join(store.folder, 'strongroom.db')).size;

test('a log that has grown is copied into the database while the node runs, and nothing of it is lost', async () => {
  const folder = await temporaryFolder();
  const store = await openTestStore(folder);
  await writeRows(store, 80);
  await vi.waitFor(() => expect(bytesOf(store)).toBeGreaterThan(7_500_000), 10_000);
  await store.close();
  const again = await openTestStore(folder);
  const { count } = statement<{ count: number }>(
    again.read,
    "SELECT count(*) AS count FROM settings WHERE name LIKE 'row %'",
  ).get() ?? { count: 0 };
  expect(count).toBe(80);
});

test('a store that is closed while its log is copied closes whole', async () => {
  const store = await openTestStore(await temporaryFolder());
  await writeRows(store, 60);
  await store.close();
  open = undefined;
  expect(bytesOf(store)).toBeGreaterThan(6_000_000);
  expect(() => statSync(join(store.folder, 'strongroom.db-wal'))).toThrow('ENOENT');
});
