import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openTarget } from '../../server/copies/targets/openTarget.ts';
import { CopyError } from '../../server/copies/targets/target.ts';
import { databaseFile } from '../../server/store/files.ts';
import type { Copy } from '../../shared/node/copy.ts';
import { problemOf, sampleRecord, uploadNewPack } from '../support/archive/packs.ts';
import { VersionedStore } from '../support/network/versionedStore.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';

let place: string;
let node: TestNode;
let copy: Copy;
beforeEach(async () => {
  place = join(await temporaryFolder(), 'copy');
  node = await openTestNode();
  copy = await addCopy(node, place);
});
afterEach(closeTestNodes);

async function addCopy(of: TestNode, folder: string): Promise<Copy> {
  const answer = await of.sendJson('POST', '/manage/copies', { target: pathToFileURL(folder).href });
  expect(answer.status, await answer.clone().text()).toBe(201);
  return (await answer.json()) as Copy;
}

const post = (path: string, of = node) => of.fetchAsOwner(path, { method: 'POST' });
const sync = ({ id } = copy, of = node) => post(`/manage/copies/${id}/sync?wait=true`, of);
const markLost = () => post(`/manage/copies/${copy.id}/mark-lost?wait=true`);
const remove = () => node.fetchAsOwner(`/manage/copies/${copy.id}`, { method: 'DELETE' });
const copies = async () =>
  ((await (await node.fetchAsOwner('/manage/copies')).json()) as { items: Copy[] }).items;

/** Publishes a pack whose two files are offloaded to the copy. */
async function offloaded(): Promise<string[]> {
  const { files } = await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one', 'b.txt': 'two' });
  expect((await sync()).status).toBe(200);
  expect((await post(`/manage/copies/${copy.id}/check?wait=true`)).status).toBe(200);
  await node.sendJson('PATCH', '/manage/settings', { offload_after_days: 0 });
  expect((await post('/manage/offload?wait=true')).status).toBe(200);
  const state = await (await node.fetchAsOwner('/manage/offload')).json();
  expect(state).toMatchObject({ offloaded_objects: 2 });
  return files.map(({ sha256 }) => sha256);
}

describe('a copy whose place holds the copy of another archive by now', () => {
  /** The disk was emptied, and another archive is copied to it. */
  async function taken(): Promise<string[]> {
    const away = await offloaded();
    await rm(place, { recursive: true });
    const other = await openTestNode();
    await uploadNewPack(other, sampleRecord({ title: 'Other' }), { 'c.txt': 'three' });
    await sync(await addCopy(other, place), other);
    return away;
  }

  test('says so, is not written, and is marked as lost', async () => {
    const [one = ''] = await taken();
    const before = await readFile(join(place, 'checkpoint'), 'utf8');
    const refused = await problemOf(sync());
    expect(refused).toMatchObject({ status: 502, code: 'copy_failed' });
    expect(refused.detail).toContain('now holds the copy of another archive');
    expect(refused.detail).toContain('mark it as lost');
    expect((await copies())[0]?.last_error).toBe(refused.detail);
    const needed = await problemOf(remove());
    expect(needed).toMatchObject({ code: 'copy_needed' });
    expect(needed.detail).toContain('mark the copy as lost');
    expect(await (await markLost()).json()).toEqual({ objects: 2, bytes: 6, restored: 0 });
    expect(await copies()).toEqual([]);
    expect(await readFile(join(place, 'checkpoint'), 'utf8')).toBe(before);
    expect(await problemOf(node.fetch(`/api/blobs/${one}`))).toMatchObject({ code: 'blob_damaged' });
  });

  test('is removed if nothing is only there', async () => {
    await rm(place, { recursive: true });
    await addCopy(await openTestNode(), place);
    expect((await remove()).status).toBe(204);
    expect(existsSync(join(place, 'strongroom.json'))).toBe(true);
  });
});

test('what another data folder of this archive took over comes back from there, and the copy is forgotten', async () => {
  const away = await offloaded();
  // As a data folder that was restored elsewhere writes it.
  const claim = JSON.parse(await readFile(join(place, 'strongroom.json'), 'utf8')) as object;
  await writeFile(join(place, 'strongroom.json'), JSON.stringify({ ...claim, writer: 'f'.repeat(32) }));
  expect((await problemOf(sync())).detail).toContain('To take it over, remove it here and add it again.');
  expect(await (await markLost()).json()).toEqual({ objects: 0, bytes: 0, restored: 2 });
  for (const sha256 of away) expect((await node.fetch(`/api/blobs/${sha256}`)).status).toBe(200);
  copy = await addCopy(node, place);
  expect((await sync()).status).toBe(200);
});

test('a copy that was moved to another folder is added there, and the old one is removed', async () => {
  const away = await offloaded();
  const moved = `${place}-moved`;
  await rename(place, moved);
  expect((await sync()).status).toBe(502);
  const there = await addCopy(node, moved);
  expect((await sync(there)).status).toBe(200);
  expect((await remove()).status).toBe(204);
  for (const sha256 of away) expect((await node.fetch(`/api/blobs/${sha256}`)).status).toBe(200);
});

test('a copy with a damaged claim is given up, and what it holds comes back', async () => {
  const [one = ''] = await offloaded();
  await writeFile(join(place, 'strongroom.json'), '{"form');
  expect((await problemOf(sync())).detail).toContain('does not belong to a copy');
  expect(await (await markLost()).json()).toEqual({ objects: 0, bytes: 0, restored: 2 });
  expect(await (await node.fetch(`/api/blobs/${one}`)).text()).toBe('one');
});

describe('a folder that is gone while it is open', () => {
  test('is an error, and no empty list', async () => {
    const target = await openTarget({ target: pathToFileURL(place).href });
    await rm(place, { recursive: true });
    const listing = async () => {
      for await (const _ of target.list('archive/'));
    };
    await expect(listing()).rejects.toThrow(CopyError);
    await expect(listing()).rejects.toThrow('cannot be reached. Connect its disk');
    await target.close();
  });

  test('is not mistaken for the empty folder below it: its files are not missing', async () => {
    const target = await openTarget({ target: pathToFileURL(place).href });
    await rename(place, `${place}-disconnected`);
    await mkdir(place);
    for (const ask of [() => target.read('checkpoint'), () => target.digestOf('checkpoint')])
      await expect(ask()).rejects.toThrow('was disconnected');
    await target.close();
  });

  test('has no part of a sync that failed', async () => {
    const target = await openTarget({ target: pathToFileURL(place).href });
    await target.put('archive/one', { bytes: Buffer.from('one') }, { type: 'text/plain' });
    expect((await readdir(place)).some((name) => name.startsWith('.partial-'))).toBe(true);
    await target.close();
    expect(await readdir(place)).toEqual(['strongroom.json']);
  });
});

describe('an access key', () => {
  const file = () => join(node.dataFolder, 'copy-credentials');

  test('of a copy that was never added is forgotten by the next start', async () => {
    await writeFile(
      file(),
      JSON.stringify({ cp_00000000000000000000: { access_key: 'a', secret_key: 'b' } }),
    );
    await node.close();
    node = await openTestNode({ dataFolder: node.dataFolder });
    expect(await readFile(file(), 'utf8')).toBe('{}\n');
  });

  test('is not left if its copy cannot be recorded, and the one before is back if a change cannot', async () => {
    const store = new VersionedStore();
    const address = await store.open();
    const database = new Database(databaseFile(node.dataFolder));
    try {
      database.exec(
        `CREATE TRIGGER no_insert BEFORE INSERT ON copies BEGIN SELECT RAISE(ABORT, 'refused'); END;
         CREATE TRIGGER no_update BEFORE UPDATE ON copies BEGIN SELECT RAISE(ABORT, 'refused'); END`,
      );
      expect((await node.sendJson('POST', '/manage/copies', address)).status).toBe(500);
      expect(await readFile(file(), 'utf8')).toBe('{}\n');
      database.exec('DROP TRIGGER no_insert');
      const added = await node.sendJson('POST', '/manage/copies', address);
      const { id } = (await added.json()) as Copy;
      const before = await readFile(file(), 'utf8');
      expect(before).toContain(id);
      const key = { access_key: 'other', secret_key: 'other', region: 'elsewhere' };
      expect((await node.sendJson('PATCH', `/manage/copies/${id}`, key)).status).toBe(500);
      expect(await readFile(file(), 'utf8')).toBe(before);
    } finally {
      database.close();
      await store.close();
    }
  });
});
