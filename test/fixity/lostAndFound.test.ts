import fs from 'node:fs';
import promises, { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { createBlobRowIfAbsent } from '../../server/store/sqlite/node/blobs.ts';
import type { Store } from '../../server/store/store.ts';
import type { LostFile } from '../../shared/ledger/fixity.ts';
import { sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { closeTestStores, openTestStore } from '../support/store.ts';
import { audit, fileOf, overwrite } from './support.ts';

afterEach(async () => {
  await closeTestStores();
  await closeTestNodes();
});

const LOST = sha256Of('lost');

/** Lists the names in `lost-and-found/`. */
async function lost(folder: string): Promise<string[]> {
  const names: string[] = await readdir(join(folder, 'lost-and-found')).catch(() => []);
  return names.sort();
}

async function listed(node: TestNode): Promise<LostFile[]> {
  const answer = await node.fetchAsOwner('/manage/lost-and-found');
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { items: LostFile[] }).items;
}

function nameInRow(store: Store, text: string): Promise<void> {
  const row = { sha256: sha256Of(text), bytes: Buffer.byteLength(text), stored_at: store.instant() };
  return store.write((database) => createBlobRowIfAbsent(database, row));
}

test('a start keeps a blob that no row names; an audit moves it to lost-and-found and lists it', async () => {
  const node = await openTestNode();
  await uploadNewPack(node, sampleRecord(), { 'a.txt': 'first' });
  await node.close();
  const { dataFolder } = node;
  await overwrite(dataFolder, LOST, 'lost');
  const again = await openTestNode({ dataFolder });
  expect(await readFile(fileOf(dataFolder, LOST), 'utf8')).toBe('lost');
  expect(await audit(again)).toMatchObject({
    damaged_objects: 0,
    database: { ok: true, findings: [] },
    unnamed_objects: 1,
    unnamed: [{ sha256: LOST, bytes: 4 }],
    lost_and_found: [{ sha256: LOST, bytes: 4, name: LOST }],
  });
  expect(await lost(dataFolder)).toEqual([LOST]);
  expect(await readFile(join(dataFolder, 'lost-and-found', LOST), 'utf8')).toBe('lost');
  expect(await listed(again)).toEqual([{ sha256: LOST, bytes: 4, name: LOST }]);
  expect((await again.fetch('/manage/lost-and-found')).status).toBe(401);
  expect(await audit(again), 'a second audit finds nothing').toMatchObject({
    unnamed_objects: 0,
    lost_and_found_objects: 1,
  });
});

test('adding the same bytes again removes them from lost-and-found', async () => {
  const node = await openTestNode();
  await overwrite(node.dataFolder, LOST, 'lost');
  await audit(node);
  await uploadNewPack(node, sampleRecord(), { 'a.txt': 'lost' });
  await expect.poll(() => listed(node)).toEqual([]);
  expect(await (await node.fetch(`/api/blobs/${LOST}`)).text()).toBe('lost');
  expect(await lost(node.dataFolder)).toEqual([]);
});

test('a blob is moved back when a row names it, at the next start or after the commit', async () => {
  const folder = await temporaryFolder();
  const first = await openTestStore(folder);
  for (const text of ['lost', 'other']) await overwrite(folder, sha256Of(text), text);
  for (const text of ['lost', 'other'])
    expect(await first.blobs.moveToLostAndFound(sha256Of(text), sha256Of(text))).toBe(true);
  await nameInRow(first, 'lost');
  await expect.poll(() => lost(folder)).toEqual([sha256Of('other')]);
  expect(await readFile(fileOf(folder, LOST), 'utf8')).toBe('lost');
  await closeTestStores();
  // As after the right database was put back: a row names the blob, which is still in lost-and-found.
  const between = await openTestStore(folder);
  await nameInRow(between, 'third');
  await closeTestStores();
  await writeFile(join(folder, 'lost-and-found', sha256Of('third')), 'third');
  await openTestStore(folder);
  expect(await readFile(fileOf(folder, sha256Of('third')), 'utf8')).toBe('third');
  expect(await lost(folder)).toEqual([sha256Of('other')]);
});

test('a file with a wrong digest is never moved back, and never replaces an existing file', async () => {
  const folder = await temporaryFolder();
  await openTestStore(folder);
  await closeTestStores();
  await mkdir(join(folder, 'lost-and-found'), { recursive: true });
  await writeFile(join(folder, 'lost-and-found', LOST), 'else');
  await overwrite(folder, sha256Of('right'), 'wrong');
  await writeFile(join(folder, 'lost-and-found', sha256Of('right')), 'right');
  const store = await openTestStore(folder);
  await nameInRow(store, 'lost');
  await nameInRow(store, 'right');
  await expect.poll(() => lost(folder)).toEqual([LOST]);
  expect(await readFile(fileOf(folder, sha256Of('right')), 'utf8')).toBe('right');
  expect(await readdir(join(folder, 'damaged'))).toEqual([`${sha256Of('right')}.${sha256Of('wrong')}`]);
  expect(await store.blobs.bytesOf(LOST)).toBeUndefined();
});

test('a file that does not hash to its name is named by both digests; files of the same name are all kept', async () => {
  const node = await openTestNode();
  await overwrite(node.dataFolder, LOST, 'else');
  await audit(node);
  await overwrite(node.dataFolder, LOST, 'else');
  await audit(node);
  const name = `${LOST}.${sha256Of('else')}`;
  expect(await lost(node.dataFolder)).toEqual([name, `${name}.2`]);
});

test('files that are not blobs are listed and left in place', async () => {
  const node = await openTestNode();
  const places = ['notes.txt', 'ab/list.csv', `ab/cd/${LOST}`];
  await mkdir(join(node.dataFolder, 'blobs/ab/cd'), { recursive: true });
  for (const place of places) await writeFile(join(node.dataFolder, 'blobs', place), 'lost');
  expect(await audit(node)).toMatchObject({
    foreign_files: 3,
    foreign: [`blobs/notes.txt`, 'blobs/ab/list.csv', `blobs/ab/cd/${LOST}`],
    unnamed_objects: 0,
  });
  for (const place of places)
    expect(await readFile(join(node.dataFolder, 'blobs', place), 'utf8')).toBe('lost');
});

test.each(['while a node runs', 'with no node'])('strongroom audit moves and lists %s', async (when) => {
  const node = await openTestNode();
  await overwrite(node.dataFolder, LOST, 'lost');
  if (when === 'with no node') await node.close();
  const moved = await runHere(['audit', '--data', node.dataFolder]);
  expect(moved).toMatchObject({ code: 0, stderr: '' });
  expect(moved.stdout).toContain(`${LOST}: 4 bytes that no record names; it was moved to lost-and-found/.`);
  const json = await runHere(['audit', '--data', node.dataFolder, '--json']);
  expect(JSON.parse(json.stdout)).toMatchObject({
    ok: true,
    lost_and_found: [{ sha256: LOST, bytes: 4, name: LOST }],
    lost_and_found_objects: 1,
  });
});

test('a start reads no folder below blobs/', async () => {
  const node = await openTestNode();
  await uploadNewPack(node, sampleRecord(), { 'a.txt': 'first' });
  await node.close();
  const read: string[] = [];
  const restore = [fs, promises].flatMap((module) =>
    ['readdir', 'readdirSync', 'opendir', 'opendirSync'].map((name) => {
      const functions = module as unknown as Record<string, ((...args: unknown[]) => unknown) | undefined>;
      const real = functions[name];
      if (real) functions[name] = (...args) => (read.push(String(args[0])), real(...args));
      return () => Object.assign(functions, real && { [name]: real });
    }),
  );
  syncBuiltinESMExports();
  try {
    await openTestStore(node.dataFolder);
  } finally {
    for (const undo of restore) undo();
    syncBuiltinESMExports();
  }
  expect(read, 'the trace sees reads').toContain(join(node.dataFolder, 'tmp'));
  expect(read.filter((path) => path.startsWith(join(node.dataFolder, 'blobs')))).toEqual([]);
});
