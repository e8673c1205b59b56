import { statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { afterEach, expect, test } from 'vitest';
import { migrate } from '../../server/store/sqlite/engine/migrate.ts';
import { openForReading, openForWriting, statement } from '../../server/store/sqlite/engine/open.ts';
import {
  Checkpointer,
  DurableCommit,
  WriteAheadLog,
} from '../../server/store/sqlite/engine/writeAheadLog.ts';
import { Writer } from '../../server/store/sqlite/engine/writer.ts';
import { openStore, type Store } from '../../server/store/store.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { eventually } from '../support/eventually.ts';
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

/** Writes `count` rows of 100 kB, each in its own transaction. */
async function writeRows(store: Store, count: number): Promise<void> {
  for (let row = 0; row < count; row += 1) {
    await store.write((database) => {
      statement(database, 'INSERT INTO settings VALUES (?, ?)').run(`row ${row}`, ROW);
    });
  }
}

const bytesOf = (store: Store) => statSync(join(store.folder, 'strongroom.db')).size;

test('a long log is checkpointed while the node runs, without losing any row', async () => {
  const folder = await temporaryFolder();
  const store = await openTestStore(folder);
  await writeRows(store, 80);
  await eventually(() => expect(bytesOf(store)).toBeGreaterThan(7_500_000));
  await store.close();
  const again = await openTestStore(folder);
  const { count } = statement<{ count: number }>(
    again.read,
    "SELECT count(*) AS count FROM settings WHERE name LIKE 'row %'",
  ).get() ?? { count: 0 };
  expect(count).toBe(80);
});

test('closing a store during a checkpoint completes it', async () => {
  const store = await openTestStore(await temporaryFolder());
  await writeRows(store, 60);
  await store.close();
  open = undefined;
  expect(bytesOf(store)).toBeGreaterThan(6_000_000);
  expect(() => statSync(join(store.folder, 'strongroom.db-wal'))).toThrow('ENOENT');
});

test('the log stays bounded under continuous writes', async () => {
  const file = join(await temporaryFolder(), 'strongroom.db');
  const writing = openForWriting(file);
  migrate(writing);
  const reading = openForReading(file);
  const log = new WriteAheadLog(file);
  const checkpointer = new Checkpointer(file, (error) => {
    throw error;
  });
  const durable = new DurableCommit(writing, reading, log);
  const writer = new Writer(writing, durable, { whenReady: () => checkpointer.whenReady() });
  writer.onCommit(checkpointer.committed);
  let longest = 0;
  const inSteps = (from: number) =>
    writer.writeInSteps(function* (database) {
      for (let row = from; row < from + 10; row += 1) {
        statement(database, 'INSERT INTO settings VALUES (?, ?)').run(`row ${row}`, ROW);
        yield;
      }
    });
  for (let from = 0; from < 1_000; from += 10) {
    await inSteps(from);
    longest = Math.max(longest, statSync(`${file}-wal`).size);
  }
  expect(longest).toBeLessThan(40_000_000);
  const { count } = statement<{ count: number }>(
    reading,
    "SELECT count(*) AS count FROM settings WHERE name LIKE 'row %'",
  ).get() ?? { count: 0 };
  expect(count).toBe(1_000);
  await checkpointer.close();
  log.close();
  reading.close();
  writing.close();
});

test('the thread ends when nothing was committed for a while, and the next commits start another', async () => {
  const file = join(await temporaryFolder(), 'strongroom.db');
  const writing = openForWriting(file);
  migrate(writing);
  const reading = openForReading(file);
  const log = new WriteAheadLog(file);
  // Only the threads of this test: one of an earlier test may still be ending.
  const threads = new Set<Worker>();
  const onThread = (thread: Worker) => {
    threads.add(thread);
    thread.once('exit', () => threads.delete(thread));
  };
  process.on('worker', onThread);
  const warn = (error: unknown) => {
    throw error;
  };
  const checkpointer = new Checkpointer(file, warn, 1);
  const writer = new Writer(writing, new DurableCommit(writing, reading, log), { warn });
  writer.onCommit(checkpointer.committed);
  for (const from of [0, 60]) {
    for (let row = from; row < from + 60; row += 1)
      await writer.write((database) => {
        statement(database, 'INSERT INTO settings VALUES (?, ?)').run(`row ${row}`, ROW);
      });
    await eventually(() => expect(statSync(file).size).toBeGreaterThan((from + 60) * 100_000));
    await eventually(() => expect(threads.size).toBe(0));
  }
  process.off('worker', onThread);
  await checkpointer.close();
  log.close();
  reading.close();
  writing.close();
});

test('a log whose size cannot be read neither holds back changes nor ends the node', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'strongroom.db');
  const writing = openForWriting(file);
  migrate(writing);
  const reading = openForReading(file);
  const log = new WriteAheadLog(file);
  symlinkSync('unreadable-wal', join(folder, 'unreadable-wal'));
  const warned: unknown[] = [];
  const warn = (error: unknown) => void warned.push(error);
  const checkpointer = new Checkpointer(join(folder, 'unreadable'), warn);
  const writer = new Writer(writing, new DurableCommit(writing, reading, log), {
    whenReady: () => checkpointer.whenReady(),
    warn,
  });
  writer.onCommit(checkpointer.committed);
  const insert = (name: string) => (database: typeof writing) => {
    statement(database, 'INSERT INTO settings VALUES (?, ?)').run(name, ROW);
  };
  await writer.write(insert('first'));
  await writer.writeInSteps(function* (database) {
    insert('second')(database);
    yield;
  });
  await writer.drained();
  const loop = expect.objectContaining({ code: 'ELOOP' }) as unknown;
  // Two commits, and the checkpoint that follows them.
  await eventually(() => expect(warned).toEqual([loop, loop, loop]));
  expect(statement<{ name: string }>(reading, 'SELECT name FROM settings').all()).toEqual(
    expect.arrayContaining([{ name: 'first' }, { name: 'second' }]),
  );
  await checkpointer.close();
  log.close();
  reading.close();
  writing.close();
});
