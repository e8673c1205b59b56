import fs, { cpSync } from 'node:fs';
import promises, { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { storeWithRepair } from '../../server/fixity/damages.ts';
import { createBlobRowIfAbsent } from '../../server/store/sqlite/node/blobs.ts';
import { isReleased, unfinishedReleases } from '../../server/store/sqlite/node/withheld.ts';
import type { Store } from '../../server/store/store.ts';
import { release, releaseNow } from '../../server/withholding/release.ts';
import { sha256Of } from '../support/archive/packs.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import { closeTestStores, openTestStore } from '../support/store.ts';

afterEach(async () => {
  await closeTestStores();
  await closeTestNodes();
});

/** What must be gone; larger than what is held in memory while it is staged. */
const TEXT = 'obnubilate '.repeat(10_000);
const SHA256 = sha256Of(TEXT);

/** Returns the files in a data folder with any of the text. */
async function filesWithText(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (entry.isFile() && (await readFile(file)).includes('obnubilate'))
      found.push(file.slice(folder.length + 1));
  }
  return found;
}

const stage = (store: Store) => store.blobs.staging.stage([Buffer.from(TEXT)], 1_000_000);
const isNoLock = (file: string) => !file.endsWith('lock');

async function killed(store: Store): Promise<string> {
  const folder = await temporaryFolder();
  await cp(store.folder, folder, { recursive: true, filter: isNoLock });
  return folder;
}

async function storeWithBlob(): Promise<Store> {
  const store = await openTestStore(await temporaryFolder());
  const staged = await stage(store);
  await staged.keep();
  await store.write((database) =>
    createBlobRowIfAbsent(database, { sha256: SHA256, bytes: TEXT.length, stored_at: store.instant() }),
  );
  await staged.discard();
  return store;
}

const request = { sha256: SHA256, reason: 'legal_order' } as const;
const record = (store: Store) =>
  store.write((database) => releaseNow(database, { ...request, note: null }, store.instant()));

/** Opens a folder as the next start does, and requires that nothing of the text is left. */
async function expectNothingLeft(folder: string, name: string): Promise<void> {
  const next = await openTestStore(folder);
  expect(isReleased(next.read, SHA256), name).toBe(true);
  expect(await filesWithText(folder), name).toEqual([]);
  expect(unfinishedReleases(next.read, 10), name).toEqual([]);
}

test('a release that was recorded is finished by the next start, wherever the node was killed', async () => {
  const store = await storeWithBlob();
  await mkdir(join(store.folder, 'drafts', 'dr_1'), { recursive: true });
  await writeFile(join(store.folder, 'drafts', 'dr_1', SHA256), TEXT);
  const folders: string[] = [];
  const target = await temporaryFolder();
  const snapshot = () => {
    const folder = join(target, String(folders.length));
    cpSync(store.folder, folder, { recursive: true, filter: isNoLock });
    folders.push(folder);
  };
  const { renameSync } = fs;
  const { rm } = promises;
  fs.renameSync = (from, to) => {
    snapshot();
    renameSync(from, to);
    snapshot();
  };
  promises.rm = async (path, options) => {
    snapshot();
    await rm(path, options);
    snapshot();
  };
  syncBuiltinESMExports();
  try {
    await release(store, request);
  } finally {
    Object.assign(fs, { renameSync });
    Object.assign(promises, { rm });
    syncBuiltinESMExports();
  }
  expect(await filesWithText(store.folder)).toEqual([]);
  expect(folders.length).toBeGreaterThan(4);
  expect(await filesWithText(folders[0] ?? ''), 'it begins with the file').not.toEqual([]);
  for (const folder of folders) await expectNothingLeft(folder, folder);
});

test('a release that was recorded and not begun is finished by the next start', async () => {
  const store = await storeWithBlob();
  await record(store);
  const folder = await killed(store);
  expect(await filesWithText(folder)).not.toEqual([]);
  await expectNothingLeft(folder, 'killed before the bytes were removed');
});

test('bytes that are being written while they are released do not stay', async () => {
  for (const end of ['discard', 'leave'] as const) {
    const store = await storeWithBlob();
    const late = await stage(store);
    await late.keep();
    await release(store, request);
    // As if the rename had come after the removal.
    await mkdir(join(store.blobs.fileOf(SHA256), '..'), { recursive: true });
    await writeFile(store.blobs.fileOf(SHA256), TEXT);
    await expectNothingLeft(await killed(store), 'killed before the write ended');
    await late[end]();
    expect(await filesWithText(store.folder), end).toEqual([]);
  }
});

test('bytes that come after their release are not written', async () => {
  const store = await storeWithBlob();
  await release(store, request);
  const again = await stage(store);
  await storeWithRepair(store, again);
  await again.keep();
  expect(await filesWithText(join(store.folder, 'blobs'))).toEqual([]);
  await again.leave();
  expect(await filesWithText(store.folder)).toEqual([]);
});

test('the cache brings nothing back', async () => {
  const store = await storeWithBlob();
  await release(store, request);
  const folder = await killed(store);
  await mkdir(join(folder, 'cache'));
  await writeFile(join(folder, 'cache', `${SHA256}-1`), TEXT);
  await expectNothingLeft(folder, 'cache');
});

test('many unfinished releases are finished in batches', async () => {
  const store = await openTestStore(await temporaryFolder());
  const digests = Array.from({ length: 1_200 }, (_, number) => sha256Of(`obnubilate ${number}`));
  await store.write((database) => {
    for (const sha256 of digests) {
      createBlobRowIfAbsent(database, { sha256, bytes: 1, stored_at: store.instant() });
      releaseNow(database, { sha256, reason: 'owner', note: null }, store.instant());
    }
  });
  const next = await openTestStore(await killed(store));
  expect(unfinishedReleases(next.read, 10)).toEqual([]);
  expect(next.heldBytes()).toBe(0);
});
