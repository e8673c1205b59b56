import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, expect, test } from 'vitest';
import { keepEarlierDatabase } from '../../server/store/opening/openDatabase.ts';
import { MIGRATIONS, migrate, NewerDatabaseError } from '../../server/store/sqlite/engine/migrate.ts';
import { openForWriting } from '../../server/store/sqlite/engine/open.ts';
import { readSetting } from '../../server/store/sqlite/node/owner.ts';
import { openStore } from '../../server/store/store.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { VERSION } from '../../shared/version.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { addMigration } from '../support/store.ts';

/** Undefined while this process is the version that wrote the folders. */
let later: ReturnType<typeof addMigration> | undefined;

afterEach(async () => {
  await closeTestNodes();
  becomeEarlier();
});

const SCHEMA = MIGRATIONS.at(-1)?.number;
const KEPT = `strongroom.db.before-${SCHEMA}`;

/** Creates a data folder with a setting that is in the write-ahead log. Then this process becomes a later version. */
async function olderFolder(): Promise<string> {
  const folder = await temporaryFolder();
  const database = openForWriting(join(folder, 'strongroom.db'));
  migrate(database);
  database.pragma('wal_autocheckpoint = 0');
  database.exec("INSERT INTO settings VALUES ('from_before', '1')");
  // Closing would copy the log into the database.
  const files = ['strongroom.db', 'strongroom.db-wal'];
  const bytes = await Promise.all(files.map((name) => readFile(join(folder, name))));
  database.close();
  await Promise.all(files.map((name, index) => writeFile(join(folder, name), bytes[index] ?? '')));
  later = addMigration("CREATE TABLE later (name TEXT); INSERT INTO later VALUES ('made')");
  return folder;
}

function becomeEarlier(): void {
  later?.remove();
  later = undefined;
}

const keptIn = async (folder: string) =>
  (await readdir(folder)).filter((name) => /\.before-\d+$/.test(name)).sort();

test('a copy of the database is kept before its schema changes, until an audit finds everything intact', async () => {
  const folder = await olderFolder();
  const node = await openTestNode({ dataFolder: folder });
  expect(await keptIn(folder)).toEqual([KEPT]);
  const copy = new Database(join(folder, KEPT), { readonly: true });
  expect(copy.pragma('user_version', { simple: true })).toBe(SCHEMA);
  expect(copy.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'later'").get()).toBeUndefined();
  expect(copy.pragma('integrity_check', { simple: true })).toBe('ok');
  expect(copy.prepare("SELECT value FROM settings WHERE name = 'from_before'").pluck().get()).toBe('1');
  copy.close();

  // An audit that finds bytes without a row is not a good one.
  const stray = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
  const uploaded = join(folder, 'blobs', 'ba', '78', stray);
  await mkdir(join(uploaded, '..'), { recursive: true });
  await writeFile(uploaded, 'abc');
  const audit = () => node.fetchAsOwner('/manage/audits?wait=true', { method: 'POST' });
  expect(await (await audit()).json()).toMatchObject({ database: { ok: true }, unnamed_objects: 1 });
  expect(await keptIn(folder)).toEqual([KEPT]);
  expect(await (await audit()).json()).toMatchObject({ database: { ok: true }, unnamed_objects: 0 });
  expect(await keptIn(folder)).toEqual([]);
});

test('the kept copy opens as the archive it was, and no other opening keeps one', async () => {
  const folder = await olderFolder();
  const opening = () => openStore({ folder, clock: systemClock });
  await (await opening()).close();
  becomeEarlier();
  await expect(opening()).rejects.toThrow(NewerDatabaseError);
  const file = join(folder, 'strongroom.db');
  for (const each of [file, `${file}-wal`, `${file}-shm`]) await rm(each, { force: true });
  await rename(join(folder, KEPT), file);
  const store = await opening();
  expect(readSetting(store.read, 'from_before')).toBe(1);
  await store.close();
  expect(await keptIn(folder)).toEqual([]);
});

test('without room for the copy, the database is not changed', async () => {
  const folder = await olderFolder();
  await expect(keepEarlierDatabase(folder, () => 10_000)).rejects.toThrow(
    /first keeps a copy of it\. The copy needs 1\.\d MB, and 0\.0 MB are free\. .* Nothing was changed\.$/,
  );
  expect(await keptIn(folder)).toEqual([]);
});

test('a version that is too old says which one is needed, and if that is not recorded', async () => {
  const folder = await temporaryFolder();
  await (await openStore({ folder, clock: systemClock })).close();
  const change = (sql: string) => {
    const database = new Database(join(folder, 'strongroom.db'));
    database.exec(sql);
    database.close();
  };
  const recorded = () => {
    const database = new Database(join(folder, 'strongroom.db'));
    const value: unknown = database
      .prepare("SELECT value FROM settings WHERE name = 'migrated_by'")
      .pluck()
      .get();
    database.close();
    return value;
  };
  expect(recorded()).toBe(JSON.stringify(VERSION));
  change(`UPDATE settings SET value = '"7.1.0"' WHERE name = 'migrated_by'; PRAGMA user_version = 9999`);
  const opening = () => openStore({ folder, clock: systemClock });
  await expect(opening()).rejects.toThrow(`this is version ${VERSION}, which supports schema`);
  await expect(opening()).rejects.toThrow('Install version 7.1.0 or a newer one. Nothing was changed.');
  change("DELETE FROM settings WHERE name = 'migrated_by'");
  await expect(opening()).rejects.toThrow('does not record which version that was: install the newest one');
  change('DROP TABLE settings');
  await expect(opening()).rejects.toThrow('does not record which version that was');
});

test('what a killed start left of a copy does not count as room that is missing', async () => {
  const folder = await olderFolder();
  const left = join(folder, `${KEPT}.partial`);
  await writeFile(left, 'a part of the database');
  await keepEarlierDatabase(folder, () => (existsSync(left) ? 10_000 : 1_000_000_000));
  expect(await keptIn(folder)).toEqual([KEPT]);
});
