import { cp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, test } from 'vitest';
import { addPack, type StagedBlob } from '../../server/archive/packs/addPack.ts';
import { BlobStore } from '../../server/store/blobs/blobStore.ts';
import { digestOf } from '../../server/store/files.ts';
import { createBlobRowIfAbsent } from '../../server/store/sqlite/node/blobs.ts';
import type { Store } from '../../server/store/store.ts';
import { overwrite } from '../fixity/support.ts';
import { filesOf, sampleRecord, sha256Of } from '../support/archive/packs.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import { closeTestStores, openTestStore } from '../support/store.ts';

afterEach(async () => {
  await closeTestStores();
  await closeTestNodes();
});

/** The small blob is staged in memory, the large one in a file. */
const SMALL = 'small';
const LARGE = 'large'.repeat(50_000);

function stage(store: Store, text: string): Promise<StagedBlob> {
  return store.blobs.staging.stage([Buffer.from(text)], 1_000_000);
}

async function keep(store: Store, text: string): Promise<StagedBlob> {
  const staged = await stage(store, text);
  await staged.keep();
  return staged;
}

/** Lists the files in the folders for blobs of a data folder. */
async function blobFolders(folder: string) {
  const names = async (place: string) => {
    const entries = await readdir(join(folder, place), { recursive: true, withFileTypes: true }).catch(
      () => [],
    );
    return entries
      .filter((entry) => entry.isFile())
      .map(({ name }) => name)
      .sort();
  };
  return { blobs: await names('blobs'), tmp: await names('tmp'), lost: await names('lost-and-found') };
}

/** Copies the data folder as kill -9 would leave it. */
async function killed(store: Store): Promise<string> {
  const folder = await temporaryFolder();
  await cp(store.folder, folder, { recursive: true, filter: (file) => !file.endsWith('lock') });
  return folder;
}

const NOTHING = { blobs: [], tmp: [], lost: [] };
const LOST = new Error('The disk is gone.');
const refuse: Store['write'] = () => Promise.reject(LOST);

function addPackOf(store: Store, staged: StagedBlob, text: string, title: string) {
  const record = sampleRecord({ title, files: filesOf({ 'a.txt': text }) });
  return addPack(store, { record, staged: new Map([['a.txt', staged]]) });
}

describe.each([
  ['small', SMALL],
  ['large', LARGE],
])('a %s blob', (_size, text) => {
  const sha256 = sha256Of(text);
  const row = { sha256, bytes: text.length, stored_at: '2026-10-01T00:00:00.000Z' };

  test('of a refused write is deleted at once', async () => {
    const store = await openTestStore(await temporaryFolder());
    await expect(addPackOf({ ...store, write: refuse }, await stage(store, text), text, 'One')).rejects.toBe(
      LOST,
    );
    expect(await blobFolders(store.folder)).toEqual(NOTHING);
  });

  test('of an accepted and a refused upload stays, whichever of them ends first', async () => {
    for (const refusedFirst of [true, false]) {
      const store = await openTestStore(await temporaryFolder());
      const [accepted, refused] = [await stage(store, text), await stage(store, text)];
      const gates = { accepted: Promise.withResolvers<void>(), refused: Promise.withResolvers<void>() };
      const kept = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const waiting: Store['write'] = async (change, options) => {
        kept[0]?.resolve();
        await gates.accepted.promise;
        return store.write(change, options);
      };
      const refusing: Store['write'] = async () => {
        kept[1]?.resolve();
        await gates.refused.promise;
        throw LOST;
      };
      const first = addPackOf({ ...store, write: waiting }, accepted, text, 'Accepted');
      const second = addPackOf({ ...store, write: refusing }, refused, text, 'Refused').catch(
        (error) => error,
      );
      await Promise.all(kept.map(({ promise }) => promise));
      const order = refusedFirst ? (['refused', 'accepted'] as const) : (['accepted', 'refused'] as const);
      const over = { accepted: first, refused: second };
      for (const which of order) {
        gates[which].resolve();
        await over[which];
      }
      expect(await second).toBe(LOST);
      expect(await digestOf(store.blobs.fileOf(sha256))).toBe(sha256);
      expect(await blobFolders(store.folder)).toEqual({ ...NOTHING, blobs: [sha256] });
    }
  });

  test('of two refused uploads is deleted with the last', async () => {
    const store = await openTestStore(await temporaryFolder());
    const [one, two] = [await keep(store, text), await keep(store, text)];
    await one.discard();
    expect((await blobFolders(store.folder)).blobs).toEqual([sha256]);
    await two.discard();
    expect(await blobFolders(store.folder)).toEqual(NOTHING);
  });

  test('stays for the next start if it is unknown what was committed', async () => {
    const store = await openTestStore(await temporaryFolder());
    const staged = await keep(store, text);
    const failing = store.write(() => {
      throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR');
    });
    await expect(failing).rejects.toMatchObject({ code: 'storage_failed' });
    await staged.discard();
    expect((await blobFolders(store.folder)).blobs).toEqual([sha256]);
    const next = await openTestStore(await killed(store));
    expect(await blobFolders(next.folder)).toEqual(NOTHING);
  });

  test('is removed by the next start after a kill before its row was committed', async () => {
    const store = await openTestStore(await temporaryFolder());
    await keep(store, text);
    const folder = await killed(store);
    expect((await blobFolders(folder)).blobs).toEqual([sha256]);
    await openTestStore(folder);
    expect(await blobFolders(folder)).toEqual(NOTHING);
  });

  test('stays after a kill after its row was committed', async () => {
    const store = await openTestStore(await temporaryFolder());
    await keep(store, text);
    await store.write((database) => createBlobRowIfAbsent(database, row));
    const folder = await killed(store);
    await openTestStore(folder);
    expect(await blobFolders(folder)).toEqual({ ...NOTHING, blobs: [sha256] });
  });

  test('is moved to lost-and-found, complete, if acknowledged rows may be missing', async () => {
    const store = await openTestStore(await temporaryFolder());
    await keep(store, text);
    const folder = await killed(store);
    await new BlobStore(folder).recover(() => false, { mayDelete: false, hasSpace: () => true });
    expect(await blobFolders(folder)).toEqual({ ...NOTHING, lost: [sha256] });
    expect(await readFile(join(folder, 'lost-and-found', sha256), 'utf8')).toBe(text);
  });

  test('that existed before a write of the same bytes is not deleted by that write', async () => {
    const store = await openTestStore(await temporaryFolder());
    await overwrite(store.folder, sha256, text);
    const staged = await keep(store, text);
    const folder = await killed(store);
    await openTestStore(folder);
    expect(await blobFolders(folder)).toEqual({ ...NOTHING, lost: [sha256] });
    await staged.discard();
    expect(await blobFolders(store.folder)).toEqual({ ...NOTHING, lost: [sha256] });
  });
});
