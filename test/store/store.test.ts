import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, test } from 'vitest';
import { TooManyBytesError } from '../../server/store/blobs/blobStore.ts';
import { digestOf } from '../../server/store/files.ts';
import { FolderInUseError } from '../../server/store/opening/folderLock.ts';
import { NewerDatabaseError } from '../../server/store/sqlite/engine/migrate.ts';
import { createBlobRowIfAbsent } from '../../server/store/sqlite/node/blobs.ts';
import { readSetting, writeSetting } from '../../server/store/sqlite/node/owner.ts';
import { openStore, type Store } from '../../server/store/store.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';

const open: Store[] = [];

async function openTestStore(folder: string): Promise<Store> {
  const store = await openStore({ folder, clock: systemClock });
  open.push(store);
  return store;
}

afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
  await closeTestNodes();
});

const ABC = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';

function* bytesOf(text: string, pieces = 3): Iterable<Uint8Array> {
  const bytes = Buffer.from(text);
  const size = Math.ceil(bytes.length / pieces);
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

describe('blobs', () => {
  test('bytes are stored exactly under their SHA-256, and tmp/ is empty afterwards', async () => {
    const store = await openTestStore(await temporaryFolder());
    const staged = await store.blobs.staging.stage(bytesOf('abc'), 10);
    expect(staged).toMatchObject({ sha256: ABC, bytes: 3 });
    await staged.keep();
    await store.write((db) =>
      createBlobRowIfAbsent(db, { sha256: ABC, bytes: 3, stored_at: store.instant() }),
    );
    await staged.discard();
    expect(await readFile(join(store.folder, 'blobs', 'ba', '78', ABC), 'utf8')).toBe('abc');
    expect(await digestOf(store.blobs.fileOf(ABC))).toBe(ABC);
    expect(await readdir(join(store.folder, 'tmp'))).toEqual([]);
  });

  test('a stream over the limit is refused and leaves nothing behind', async () => {
    const store = await openTestStore(await temporaryFolder());
    await expect(store.blobs.staging.stage(bytesOf('abcdefghijk'), 10)).rejects.toThrow(TooManyBytesError);
    expect(await readdir(join(store.folder, 'tmp'))).toEqual([]);
  });

  test('a stream that fails leaves nothing behind', async () => {
    const store = await openTestStore(await temporaryFolder());
    const failing = (async function* () {
      yield Buffer.from('abc');
      throw new Error('the line went dead');
    })();
    await expect(store.blobs.staging.stage(failing, 10)).rejects.toThrow('the line went dead');
    expect(await readdir(join(store.folder, 'tmp'))).toEqual([]);
  });

  test('storing the same bytes again repairs a damaged blob', async () => {
    const store = await openTestStore(await temporaryFolder());
    await (await store.blobs.staging.stage(bytesOf('abc'), 10)).keep();
    await writeFile(store.blobs.fileOf(ABC), 'abd');
    expect(await digestOf(store.blobs.fileOf(ABC))).not.toBe(ABC);
    await (await store.blobs.staging.stage(bytesOf('abc'), 10)).keep();
    expect(await digestOf(store.blobs.fileOf(ABC))).toBe(ABC);
  });

  test('the next start empties tmp/, deletes unreferenced leftovers and keeps referenced blobs', async () => {
    const folder = await temporaryFolder();
    const first = await openStore({ folder, clock: systemClock });
    const named = await first.blobs.staging.stage(bytesOf('abc'), 10);
    await named.keep();
    await first.write((db) =>
      createBlobRowIfAbsent(db, { sha256: ABC, bytes: 3, stored_at: first.instant() }),
    );
    const unnamed = await first.blobs.staging.stage(bytesOf('abd'), 10);
    await unnamed.keep();
    await first.blobs.staging.stage(bytesOf('left by a crash'), 100);
    await first.close();
    const second = await openTestStore(folder);
    expect(await readdir(join(folder, 'tmp'))).toEqual([]);
    expect(await second.blobs.bytesOf(ABC)).toBe(3);
    expect(await second.blobs.bytesOf(unnamed.sha256)).toBeUndefined();
  });

  test('refuses a name that is not a digest', async () => {
    const store = await openTestStore(await temporaryFolder());
    expect(() => store.blobs.fileOf('../../etc/passwd')).toThrow(TypeError);
  });
});

describe('the data folder', () => {
  test('is accessible only to the owner’s account', async () => {
    const store = await openTestStore(join(await temporaryFolder(), 'a', 'b'));
    expect((await stat(store.folder)).mode & 0o777).toBe(0o700);
  });

  test('is opened by one node at a time, and can be opened again after it closes', async () => {
    const folder = await temporaryFolder();
    const first = await openStore({ folder, clock: systemClock });
    await expect(openStore({ folder, clock: systemClock })).rejects.toThrow(FolderInUseError);
    await first.close();
    await openTestStore(folder);
  });

  test('of a newer Strongroom is refused and not changed', async () => {
    const folder = await temporaryFolder();
    await (await openStore({ folder, clock: systemClock })).close();
    const database = new Database(join(folder, 'strongroom.db'));
    database.pragma('user_version = 9999');
    database.close();
    await expect(openStore({ folder, clock: systemClock })).rejects.toThrow(NewerDatabaseError);
    await expect(openStore({ folder, clock: systemClock })).rejects.toThrow(/newer Strongroom/);
  });
});

describe('group commit', () => {
  test('a refused change undoes only itself', async () => {
    const store = await openTestStore(await temporaryFolder());
    const kept = store.write((db) => writeSetting(db, 'kept', 1));
    const refused = store.write((db) => {
      writeSetting(db, 'refused', 1);
      throw new Error('no');
    });
    const later = store.write((db) => readSetting(db, 'refused'));
    await kept;
    await expect(refused).rejects.toThrow('no');
    expect(await later).toBeUndefined();
    expect(readSetting(store.read, 'kept')).toBe(1);
    expect(readSetting(store.read, 'refused')).toBeUndefined();
  });

  test('a reader sees a change only after it was answered', async () => {
    const store = await openTestStore(await temporaryFolder());
    const written = store.write((db) => writeSetting(db, 'name', 'value'));
    expect(readSetting(store.read, 'name')).toBeUndefined();
    await written;
    expect(readSetting(store.read, 'name')).toBe('value');
  });

  test('a full database refuses writes that do not fit and accepts those that do', async () => {
    const store = await openTestStore(await temporaryFolder());
    await store.write((db) => db.pragma('max_page_count = 60'));
    const tooLarge = store.write((db) => writeSetting(db, 'large', 'x'.repeat(1_000_000)));
    await expect(tooLarge).rejects.toMatchObject({ code: 'disk_nearly_full' });
    expect(store.failure()).toBeUndefined();
    await store.write((db) => writeSetting(db, 'small', 1));
    expect(readSetting(store.read, 'small')).toBe(1);
  });
});
