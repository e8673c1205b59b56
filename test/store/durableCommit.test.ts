import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DurableCommit } from '../../server/store/sqlite/durableCommit.ts';
import { migrate } from '../../server/store/sqlite/migrate.ts';
import {
  openForReading,
  openForWriting,
  type ReadDatabase,
  type WriteDatabase,
} from '../../server/store/sqlite/open.ts';
import { readSetting, writeSetting } from '../../server/store/sqlite/settings.ts';
import { Writer } from '../../server/store/sqlite/writer.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';

/** A disk that syncs when the test says so. */
class HeldDisk {
  #begun: (() => void)[] = [];
  end: ((error?: Error) => void) | undefined;
  syncs = 0;

  sync(): Promise<void> {
    this.syncs += 1;
    for (const tell of this.#begun.splice(0)) tell();
    return new Promise((resolve, reject) => {
      this.end = (error) => (error ? reject(error) : resolve());
    });
  }

  /** Resolves when the next sync begins. */
  begun(): Promise<void> {
    return new Promise((resolve) => this.#begun.push(resolve));
  }
}

let writing: WriteDatabase;
let reading: ReadDatabase;
let disk: HeldDisk;
let writer: Writer;

beforeEach(async () => {
  const file = join(await temporaryFolder(), 'strongroom.db');
  writing = openForWriting(file);
  migrate(writing);
  reading = openForReading(file);
  disk = new HeldDisk();
  writer = new Writer(writing, new DurableCommit(writing, reading, disk));
});

afterEach(async () => {
  reading.close();
  writing.close();
  await closeTestNodes();
});

const shown = () => readSetting(reading, 'name');

/** Writes a value and comes back when the disk syncs it. */
async function begin(value: string): Promise<{ written: Promise<unknown>; isAnswered: () => boolean }> {
  const begun = disk.begun();
  let isAnswered = false;
  const written = writer
    .write((database) => writeSetting(database, 'name', value))
    .finally(() => {
      isAnswered = true;
    });
  written.catch(() => {});
  await begun;
  return { written, isAnswered: () => isAnswered };
}

test('what is committed is neither answered nor shown before it is on stable storage', async () => {
  const { written, isAnswered } = await begin('first');
  expect(readSetting(writing, 'name'), 'it is committed').toBe('first');
  expect(shown()).toBeUndefined();
  expect(isAnswered()).toBe(false);
  disk.end?.();
  await written;
  expect(shown()).toBe('first');
});

test('a change that comes while the disk syncs waits for the next commit', async () => {
  const first = await begin('first');
  const second = writer.write((database) => writeSetting(database, 'name', 'second'));
  await new Promise(setImmediate);
  expect(readSetting(writing, 'name')).toBe('first');
  const begun = disk.begun();
  disk.end?.();
  await first.written;
  await begun;
  expect(shown()).toBe('first');
  disk.end?.();
  await second;
  expect(shown()).toBe('second');
  expect(disk.syncs).toBe(2);
});

test('after a sync that failed nothing is answered as written, shown or written any more', async () => {
  const first = await begin('first');
  disk.end?.();
  await first.written;
  const lost = await begin('lost');
  disk.end?.(new Error('EIO: i/o error, fdatasync'));
  await expect(lost.written).rejects.toMatchObject({ code: 'storage_failed' });
  expect(shown()).toBe('first');
  await expect(writer.write((database) => writeSetting(database, 'name', 'late'))).rejects.toMatchObject({
    code: 'storage_failed',
  });
  expect(writer.failure).toMatchObject({ code: 'storage_failed' });
  expect(shown()).toBe('first');
});

test('a commit that the disk has no room for is undone, and the next one is made', async () => {
  const pages = writing.pragma('page_count', { simple: true });
  writing.pragma(`max_page_count = ${Number(pages)}`);
  const large = writer.write((database) => writeSetting(database, 'large', 'x'.repeat(100_000)));
  await expect(large).rejects.toMatchObject({ code: 'disk_nearly_full' });
  const { written } = await begin('small');
  disk.end?.();
  await written;
  expect(shown()).toBe('small');
  expect(readSetting(reading, 'large')).toBeUndefined();
});

test('changes wait a moment for those that are announced, and share their commit', async () => {
  const arrived = writer.expect();
  const first = writer.write((database) => writeSetting(database, 'name', 'first'));
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  expect(readSetting(writing, 'name'), 'it waits').toBeUndefined();
  const begun = disk.begun();
  const second = writer.write((database) => writeSetting(database, 'other', 'second'));
  arrived();
  await begun;
  disk.end?.();
  await Promise.all([first, second]);
  expect(disk.syncs).toBe(1);
});

test('a change is made all the same where the one that was announced does not come', async () => {
  writer.expect();
  const { written } = await begin('first');
  disk.end?.();
  await written;
  expect(shown()).toBe('first');
});
