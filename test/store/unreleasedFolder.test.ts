import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, expect, test } from 'vitest';
import { UnreleasedDatabaseError } from '../../server/store/sqlite/engine/migrate.ts';
import { openStore } from '../../server/store/store.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { closeAlteredNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';

afterEach(closeAlteredNodes);

/** Creates the data folder of an archive whose database says that it has an earlier schema. */
async function folderWithSchema(number: number): Promise<string> {
  const node = await openTestNode();
  await uploadNewPack(node, {}, { 'a.txt': 'a' });
  await node.close();
  const database = new Database(join(node.dataFolder, 'strongroom.db'));
  database.pragma(`user_version = ${number}`);
  database.close();
  return node.dataFolder;
}

/** Returns the digest and the mode of every file of a folder, by its path. */
async function filesIn(folder: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const { mode } = await stat(path);
    files[path] = `${mode} ${entry.isFile() ? sha256Of(await readFile(path)) : ''}`;
  }
  return files;
}

/** One sentence that says how the contents come over. */
const SENTENCE =
  /^This data folder is from before the first release \(its database has schema 64\) and was not changed: [^.]*export it with version 0\.1\.0 \(“strongroom export”\)[^.]*import the file with this version[^.]*\.\n?$/;

test('a folder from before the first release is refused with what to do, and not changed', async () => {
  const folder = await folderWithSchema(64);
  const before = await filesIn(folder);
  await expect(openTestNode({ dataFolder: folder })).rejects.toThrow(SENTENCE);
  await expect(openStore({ folder, clock: systemClock })).rejects.toThrow(UnreleasedDatabaseError);
  expect(await filesIn(folder)).toEqual(before);
});

test.each([
  [['serve', '--port', '0']],
  [['audit']],
  [['export']],
  [['ledger', 'verify']],
  [['copy', 'list']],
])('“strongroom %j” refuses it with the same sentence', async (command) => {
  const folder = await folderWithSchema(64);
  const before = await filesIn(folder);
  const out = command[0] === 'export' ? ['--out', join(await temporaryFolder(), 'archive.zip')] : [];
  const { code, stdout, stderr } = await runHere([...command, ...out, '--data', folder]);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(SENTENCE);
  // SQLite's reader may leave an empty log and its index.
  expect(await filesIn(folder)).toMatchObject(before);
});

test.each([1, 99])('schema %d is refused, and a folder that has it is moved nowhere', async (number) => {
  const folder = await folderWithSchema(number);
  const before = await filesIn(folder);
  const moved = await runHere(['move', folder, join(await temporaryFolder(), 'elsewhere')]);
  expect(moved).toMatchObject({ code: 2, stderr: expect.stringContaining('from before the first release') });
  expect(await filesIn(folder)).toEqual(before);
});
