import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DurableCommit } from '../../server/store/sqlite/engine/durableCommit.ts';
import { migrate } from '../../server/store/sqlite/engine/migrate.ts';
import {
  openForReading,
  openForWriting,
  type ReadDatabase,
  type WriteDatabase,
} from '../../server/store/sqlite/engine/open.ts';
import { Writer } from '../../server/store/sqlite/engine/writer.ts';
import { readSetting, writeSetting } from '../../server/store/sqlite/node/settings.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';

/** A disk whose syncs end when the test says so. */
class ManualDisk {
  #begun: (() => void)[] = [];
  end: ((error?: Error) => void) | undefined;
  syncs = 0;

  sync(): Promise<void> {
    this.syncs += 1;
    for (const resolve of this.#begun.splice(0)) resolve();
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
let disk: ManualDisk;
let writer: Writer;

beforeEach(async () => {
  const file = join(await temporaryFolder(), 'strongroom.db');
  writing = openForWriting(file);
  migrate(writing);
  reading = openForReading(file);
  disk = new ManualDisk();
  writer = new Writer(
    writing,
    new DurableCommit(writing, reading, disk, { byThread: Number.POSITIVE_INFINITY }),
  );
});

afterEach(async () => {
  reading.close();
  writing.close();
  await closeTestNodes();
});

const shown = () => readSetting(reading, 'name');

/** Writes a value and resolves when its sync begins. */
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

test('a commit is neither answered nor visible before it is on stable storage', async () => {
  const { written, isAnswered } = await begin('first');
  expect(readSetting(writing, 'name'), 'it is committed').toBe('first');
  expect(shown()).toBeUndefined();
  expect(isAnswered()).toBe(false);
  disk.end?.();
  await written;
  expect(shown()).toBe('first');
});

test('a change that arrives during a sync waits for the next commit', async () => {
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

test('after a failed sync the commit is neither acknowledged nor visible, and nothing more is written', async () => {
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

test('a commit that does not fit on the disk is rolled back, and the next one is made', async () => {
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

describe('adaptive sync', () => {
  /** Returns a function that commits; each reading of the clock advances it by `tookMs`. */
  function commits(tookMs: number): () => Promise<void> {
    let now = 0;
    writer = new Writer(writing, new DurableCommit(writing, reading, disk, { now: () => (now += tookMs) }));
    return async () => {
      const syncs = disk.syncs;
      const written = writer.write((database) => writeSetting(database, 'name', 'value'));
      for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
      if (disk.syncs > syncs) disk.end?.();
      await written;
    };
  }

  test('a fast disk uses the thread only for the first commit', async () => {
    const commit = commits(1);
    for (let number = 0; number < 5; number += 1) await commit();
    expect(disk.syncs).toBe(1);
    expect(writing.pragma('synchronous', { simple: true }), 'FULL').toBe(2);
    expect(shown()).toBe('value');
  });

  test('a slow disk uses the thread, for twice as many commits each time it is still slow', async () => {
    const commit = commits(10);
    for (let number = 0; number < 2 + 64; number += 1) await commit();
    expect(disk.syncs).toBe(1 + 64);
    for (let number = 0; number < 1 + 128; number += 1) await commit();
    expect(disk.syncs).toBe(1 + 64 + 128);
  });

  test('a change that fails leaves no trace when the disk is fast', async () => {
    const commit = commits(1);
    await commit();
    const failing = writer.write((database) => {
      writeSetting(database, 'name', 'lost');
      throw new Error('It fails.');
    });
    await expect(failing).rejects.toThrow('It fails.');
    expect(shown()).toBe('value');
  });
});
