import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { openStore, type Store } from '../../server/store/store.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { sha256Of } from '../support/archive/packs.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';

const open: Store[] = [];
afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
  await closeTestNodes();
});

async function openTestStore(): Promise<Store> {
  const store = await openStore({ folder: await temporaryFolder(), clock: systemClock });
  open.push(store);
  return store;
}

/** The files in `tmp/` without the markers of blobs that have no row yet. */
async function inTmp(store: Store): Promise<string[]> {
  const names = await readdir(join(store.folder, 'tmp'));
  return names.filter((name) => !name.startsWith('keeping-'));
}

const MAX_BYTES = 1_000_000;
const contentOf = (number: number) => `The content of blob ${number}.`;

function stageText(store: Store, text: string) {
  return store.blobs.staging.stage([Buffer.from(text)], MAX_BYTES);
}

describe('blobs that are kept concurrently', () => {
  test('are all stored completely, whatever their size', async () => {
    const store = await openTestStore();
    const texts = Array.from({ length: 200 }, (_, number) =>
      contentOf(number).repeat(number % 10 === 0 ? 9_000 : 1),
    );
    const staged = await Promise.all(texts.map((text) => stageText(store, text)));
    await Promise.all(staged.map((blob) => blob.keep()));
    for (const text of texts) {
      expect(await readFile(store.blobs.fileOf(sha256Of(text)), 'utf8')).toBe(text);
    }
    expect(await inTmp(store)).toEqual([]);
  });

  test('fail independently: one whose folder is blocked is refused, the others are kept', async () => {
    const store = await openTestStore();
    const shard = dirname(store.blobs.fileOf(sha256Of(contentOf(3))));
    await mkdir(dirname(shard), { recursive: true });
    await writeFile(shard, 'in the way');
    const staged = await Promise.all([1, 2, 3, 4].map((number) => stageText(store, contentOf(number))));
    const outcomes = await Promise.allSettled(staged.map((blob) => blob.keep()));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[2]).toMatchObject({ reason: { code: 'EEXIST' } });
    expect(await inTmp(store)).toEqual([]);
    expect(await store.blobs.bytesOf(sha256Of(contentOf(4)))).toBe(contentOf(4).length);
  });

  test('are awaited when the store closes', async () => {
    const store = await openTestStore();
    const staged = await Promise.all(
      Array.from({ length: 100 }, (_, number) => stageText(store, contentOf(number))),
    );
    const kept = Promise.all(staged.map((blob) => blob.keep()));
    await store.close();
    open.length = 0;
    await kept;
    const names = await readdir(join(store.folder, 'blobs'), { recursive: true });
    expect(names.filter((name) => name.length > 64)).toHaveLength(100);
  });
});

describe('a staged blob', () => {
  test('is held in memory if it is small, and is never on the disk if it is discarded', async () => {
    const store = await openTestStore();
    const staged = await stageText(store, 'small');
    expect(await inTmp(store)).toEqual([]);
    await staged.discard();
    await expect(staged.keep()).rejects.toThrow('released');
    expect(await store.blobs.bytesOf(staged.sha256)).toBeUndefined();
  });

  test('is held in tmp/ if it is large or if the memory for staged blobs is used up', async () => {
    const store = await openTestStore();
    const large = await stageText(store, 'x'.repeat(100_000));
    expect(await readdir(join(store.folder, 'tmp'))).toHaveLength(1);
    await large.discard();
    const many = await Promise.all(
      Array.from({ length: 200 }, (_, number) => stageText(store, contentOf(number).repeat(2_400))),
    );
    const inFiles = (await readdir(join(store.folder, 'tmp'))).length;
    expect(inFiles).toBeGreaterThan(0);
    expect(inFiles).toBeLessThan(200);
    await Promise.all(many.map((blob) => blob.keep()));
    expect(await inTmp(store)).toEqual([]);
    // Kept blobs have released their memory.
    await stageText(store, 'small');
    expect(await inTmp(store)).toEqual([]);
  });
});
