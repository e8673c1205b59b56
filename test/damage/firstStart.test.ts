import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, expect, test } from 'vitest';
import { uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { keyOf } from './support.ts';

afterEach(closeTestNodes);

/** The folder of an empty archive that was opened once. */
async function emptyArchive(): Promise<string> {
  const node = await openTestNode();
  await node.close();
  return node.dataFolder;
}

/** The states that a killed first start may leave. */
const LEFTOVERS: Record<string, (from: string, folder: string) => Promise<unknown>> = {
  'only a lock file': (_, folder) => writeFile(join(folder, 'lock'), ''),
  'an empty database file': (_, folder) => writeFile(join(folder, 'strongroom.db'), ''),
  'a database without a key': async (from, folder) => {
    await cp(from, folder, { recursive: true });
    await forgetKey(folder);
    for (const name of ['key', 'checkpoint']) await rm(join(folder, name));
  },
  'a key that is not in use yet': async (from, folder) => {
    await cp(from, folder, { recursive: true });
    await cp(join(folder, 'key'), join(folder, 'key.next'));
    for (const name of ['key', 'checkpoint']) await rm(join(folder, name));
  },
  'a key that the database does not record, as earlier versions did': async (from, folder) => {
    await cp(from, folder, { recursive: true });
    await forgetKey(folder);
    for (const name of ['head', 'checkpoint']) await rm(join(folder, name));
  },
};

async function forgetKey(folder: string): Promise<void> {
  const database = new Database(join(folder, 'strongroom.db'));
  database.exec("DELETE FROM settings WHERE name = 'verifier_key'");
  database.close();
}

test.each(Object.keys(LEFTOVERS))(
  'the next start succeeds after a killed first start left %s',
  async (what) => {
    const folder = join(await temporaryFolder(), 'data');
    await mkdir(folder);
    await LEFTOVERS[what]?.(await emptyArchive(), folder);
    const left = await readFile(join(folder, 'key'), 'utf8').catch(() => undefined);
    const node = await openTestNode({ dataFolder: folder });
    await uploadNewPack(node);
    expect(await (await node.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true, size: 1 });
    await node.close();
    if (left !== undefined) expect(await readFile(join(folder, 'key'), 'utf8')).toBe(left);
    expect(await readdir(folder)).not.toContain('key.next');
    expect(await keyOf(folder)).toMatch(/^node-[0-9a-f]{10}\.local\/strongroom\+/);
  },
);

test('an archive of a version without head file and checkpoint opens, deletes nothing, and gets both', async () => {
  const first = await openTestNode();
  await uploadNewPack(first);
  await first.close();
  const folder = first.dataFolder;
  for (const name of ['head', 'checkpoint', 'reserve']) await rm(join(folder, name));
  const stray = join(folder, 'blobs', 'ab', 'cd', `abcd${'0'.repeat(60)}`);
  await mkdir(join(stray, '..'), { recursive: true });
  await writeFile(stray, 'unknown bytes');
  const node = await openTestNode({ dataFolder: folder });
  expect(await readFile(stray, 'utf8')).toBe('unknown bytes');
  await node.close();
  expect(await readFile(join(folder, 'head'), 'utf8')).toMatch(/^strongroom-head-1 0{15}1 /);
  expect(await readFile(join(folder, 'checkpoint'), 'utf8')).toMatch(/^node-.*\n1\n/);
});
