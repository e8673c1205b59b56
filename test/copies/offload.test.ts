import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { appendFile, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { sendObjects } from '../../server/copies/sendObjects.ts';
import { openTarget } from '../../server/copies/targets/openTarget.ts';
import { databaseFile } from '../../server/store/files.ts';
import type { Copy, ObjectPlaces, OffloadResult, OffloadState } from '../../shared/node/copy.ts';
import { problemOf, sampleRecord, uploadNewPack } from '../support/archive/packs.ts';
import { openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { openTestStore } from '../support/store.ts';
import { usePreparedCopy } from './preparedCopy.ts';

const MIB = 1_048_576;
/** More than is fetched whole before the first byte is sent: four pieces and a part of one. No two pieces are equal. */
const LARGE = Buffer.concat([0, 1, 2, 3, 4].map((piece) => Buffer.alloc(MIB, `piece ${piece}`))).subarray(
  0,
  4 * MIB + 77,
);
const SAMPLE = Buffer.from(LARGE.subarray(0, 1_000));
const EVERYTHING = { offload_after_days: 0 };

const prepared = usePreparedCopy();
let place: string;
let node: TestNode;
let copy: Copy;
beforeAll(() => {
  place = prepared.place;
});

/** Opens an archive whose copy has nothing yet. */
async function begin(): Promise<void> {
  node = await openTestNode({ dataFolder: prepared.data });
  copy = await addCopy(place);
}

async function addCopy(folder: string): Promise<Copy> {
  const answer = await node.sendJson('POST', '/manage/copies', { target: pathToFileURL(folder).href });
  expect(answer.status).toBe(201);
  return (await answer.json()) as Copy;
}

async function done<Result>(path: string, body?: object): Promise<Result> {
  const answer = body
    ? await node.sendJson('POST', path, body)
    : await node.fetchAsOwner(path, { method: 'POST' });
  expect(answer.status, await answer.clone().text()).toBe(200);
  return (await answer.json()) as Result;
}

const sync = ({ id } = copy) => done(`/manage/copies/${id}/sync?wait=true`);
const check = ({ id } = copy) => done<{ ok: boolean }>(`/manage/copies/${id}/check?wait=true`, {});
const offload = () => done<OffloadResult>('/manage/offload?wait=true');
const change = (settings: object) => node.sendJson('PATCH', '/manage/settings', settings);
const state = async () => (await (await node.fetchAsOwner('/manage/offload')).json()) as OffloadState;
const blobOf = (sha256: string, { dataFolder } = node) =>
  join(dataFolder, 'blobs', sha256.slice(0, 2), sha256.slice(2, 4), sha256);
const copied = (sha256: string) => join(place, 'archive', sha256);
const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const bytesOf = async (path: string, headers: Record<string, string> = {}) => {
  const answer = await node.fetch(path, { headers });
  return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) };
};

/** Opens an archive of a pack with a small and a large file, which both have left. */
async function offloaded(): Promise<{ id: string; small: string; large: string }> {
  await prepared.begin('offloaded', async () => {
    await begin();
    await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one', 'b.bin': LARGE });
    await sync();
    expect(await check()).toMatchObject({ ok: true });
    await change(EVERYTHING);
    await offload();
    return node;
  });
  node = await openTestNode({ dataFolder: prepared.data });
  const { items } = (await (await node.fetchAsOwner('/manage/copies')).json()) as { items: Copy[] };
  copy = items[0] ?? expect.fail('no copy');
  const packs = (await (await node.fetch('/api/packs')).json()) as { items: { id: string }[] };
  const id = packs.items[0]?.id ?? '';
  const [small, large] = [sha256Of(Buffer.from('one')), sha256Of(LARGE)];
  expect([small, large].map((sha256) => existsSync(blobOf(sha256)))).toEqual([false, false]);
  return { id, small, large };
}

describe('what may leave', () => {
  test('is nothing without a setting, a copy or a check', async () => {
    await begin();
    const { files } = await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one' });
    const [{ sha256 } = { sha256: '' }] = files;
    expect(await offload()).toEqual({ objects: 0, bytes: 0, refused: 0 });
    await change(EVERYTHING);
    await sync();
    expect(await offload()).toEqual({ objects: 0, bytes: 0, refused: 0 });
    expect(existsSync(blobOf(sha256))).toBe(true);
    await check();
    await offload();
    expect(existsSync(blobOf(sha256))).toBe(false);
    expect(await state()).toMatchObject({
      offloaded_objects: 1,
      offloaded_bytes: 3,
      local_bytes: 0,
      only_in: [{ copy: copy.id, objects: 1 }],
    });
    const places = (await (
      await node.fetchAsOwner(`/manage/offload/objects/${sha256}`)
    ).json()) as ObjectPlaces;
    expect(places).toMatchObject({ is_here: false, copies: [{ copy: copy.id }] });
  });

  test('is no object that the copy no longer gives back intact', async () => {
    await begin();
    const { files } = await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one', 'b.txt': 'two' });
    const [a = '', b = ''] = files.map(({ sha256 }) => sha256);
    await sync();
    await check();
    await writeFile(copied(a), 'owe');
    await rm(copied(b));
    await change(EVERYTHING);
    await offload();
    expect([existsSync(blobOf(a)), existsSync(blobOf(b))]).toEqual([true, true]);
    expect(await state()).toMatchObject({ offloaded_objects: 0 });
  });

  test('leaves the newest objects of `keep_local_gb` here', async () => {
    await begin();
    await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one' });
    await sync();
    await check();
    await change({ keep_local_gb: 1 });
    expect(await offload()).toMatchObject({ objects: 0 });
    await change({ keep_local_gb: 0 });
    await offload();
    expect(await state()).toMatchObject({ offloaded_objects: 1 });
  });
});

describe('an object that has left', () => {
  test('is read whole, in ranges and in pack files, and verifies', async () => {
    const { id, small, large } = await offloaded();
    expect((await bytesOf(`/api/blobs/${small}`)).bytes.toString()).toBe('one');
    expect(sha256Of((await bytesOf(`/api/blobs/${large}`)).bytes)).toBe(large);
    const [start, end] = [MIB - 5, 3 * MIB + 9];
    const range = await bytesOf(`/api/blobs/${large}`, { Range: `bytes=${start}-${end}` });
    expect(range.status).toBe(206);
    expect(range.bytes.equals(LARGE.subarray(start, end + 1))).toBe(true);
    const tail = await bytesOf(`/api/blobs/${large}`, { Range: 'bytes=-4' });
    expect(tail.bytes.equals(LARGE.subarray(-4))).toBe(true);
    const head = await node.fetch(`/api/blobs/${large}`, { method: 'HEAD' });
    expect(head.headers.get('content-length')).toBe(String(LARGE.length));
    const verified = await (await node.fetch(`/api/packs/${id}/verify`)).json();
    expect(verified).toMatchObject({ ok: true });
    const pack = await bytesOf(`/api/packs/${id}/file`);
    expect(pack.bytes.includes(SAMPLE)).toBe(true);
    expect(existsSync(blobOf(large))).toBe(false);
  });

  test('is withheld with a reason while the copy cannot be reached, and nothing is recorded as damaged', async () => {
    const { id, small, large } = await offloaded();
    await rename(place, `${place}-unplugged`);
    for (const path of [
      `/api/blobs/${small}`,
      `/api/blobs/${large}`,
      `/api/packs/${id}/file`,
      `/api/packs/${id}/verify`,
    ])
      expect(await problemOf(node.fetch(path)), path).toMatchObject({
        status: 503,
        code: 'copy_unreachable',
      });
    const audit = await (await node.fetchAsOwner('/manage/audits?wait=true', { method: 'POST' })).json();
    expect(audit).toMatchObject({ checked: 0, damaged_objects: 0, elsewhere_objects: 2 });
    await rename(`${place}-unplugged`, place);
    expect((await bytesOf(`/api/blobs/${small}`)).bytes.toString()).toBe('one');
  });

  test('is never sent with a wrong byte, and is recorded as damaged if no copy holds it intact', async () => {
    const { large } = await offloaded();
    const bytes = await readFile(copied(large));
    bytes[3 * MIB] = (bytes[3 * MIB] ?? 0) ^ 1;
    await writeFile(copied(large), bytes);
    const intact = await bytesOf(`/api/blobs/${large}`, { Range: `bytes=0-${MIB}` });
    expect(intact.bytes.equals(LARGE.subarray(0, MIB + 1))).toBe(true);
    const range = `bytes=${3 * MIB}-${3 * MIB + 1}`;
    expect(await problemOf(node.fetch(`/api/blobs/${large}`, { headers: { Range: range } }))).toMatchObject({
      code: 'blob_damaged',
    });
    const { items } = (await (await node.fetch('/api/damages')).json()) as { items: { sha256: string }[] };
    expect(items.map(({ sha256 }) => sha256)).toEqual([large]);
    await writeFile(copied(large), LARGE);
    expect(await check()).toMatchObject({ ok: true, restored: 1 });
    expect(sha256Of((await bytesOf(`/api/blobs/${large}`)).bytes)).toBe(large);
  });

  test('is sent to a copy also if it leaves while it is sent', async () => {
    await begin();
    await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one' });
    await node.close();
    const store = await openTestStore(node.dataFolder);
    const small = sha256Of(Buffer.from('one'));
    await rm(blobOf(small));
    const { offloaded: blobs } = store.blobs;
    vi.spyOn(blobs, 'isOffloaded').mockResolvedValueOnce(false).mockResolvedValue(true);
    vi.spyOn(blobs, 'stream').mockReturnValue(Readable.from([Buffer.from('one')]));
    const target = await openTarget({ target: pathToFileURL(place).href });
    const run = { signal: new AbortController().signal, onBytes: () => {} };
    expect(await sendObjects(store, target, [small], run)).toMatchObject({ sent: [small], damaged: [] });
    await target.close();
    await store.close();
  });

  test('is sent again from the cache if its copy has lost it', async () => {
    const { small } = await offloaded();
    expect((await bytesOf(`/api/blobs/${small}`)).bytes.toString()).toBe('one');
    await rm(copied(small));
    expect(await check()).toMatchObject({ ok: false, missing: 1 });
    expect(await readFile(copied(small), 'utf8')).toBe('one');
    expect(await (await node.fetch('/api/damages')).json()).toMatchObject({ total: 0 });
    expect(await check()).toMatchObject({ ok: true });
  });

  test('reaches a second copy, which goes on where the first one fails', async () => {
    const { large } = await offloaded();
    const second = join(await temporaryFolder(), 'second');
    const other = await addCopy(second);
    expect(await sync(other)).toMatchObject({ objects: 2 });
    expect(await state()).toMatchObject({ only_in: [{ objects: 0 }, { objects: 0 }] });
    await writeFile(copied(large), LARGE.subarray(0, 2 * MIB));
    expect(sha256Of((await bytesOf(`/api/blobs/${large}`)).bytes)).toBe(large);
    await check();
    expect(sha256Of(await readFile(copied(large)))).toBe(large);
    expect((await node.fetchAsOwner(`/manage/copies/${copy.id}`, { method: 'DELETE' })).status).toBe(204);
    const last = node.fetchAsOwner(`/manage/copies/${other.id}`, { method: 'DELETE' });
    expect(await problemOf(last)).toMatchObject({ status: 409, code: 'copy_needed' });
  });

  test('comes back with an upload, on request, and is exported', async () => {
    const { small, large } = await offloaded();
    await uploadNewPack(node, sampleRecord({ title: 'Again' }), { 'a.txt': 'one' });
    expect(existsSync(blobOf(small))).toBe(true);
    expect(await state()).toMatchObject({ offloaded_objects: 1 });
    const file = join(await temporaryFolder(), 'archive.zip');
    const exported = await runHere(['export', '--data', node.dataFolder, '--out', file]);
    expect(exported, exported.stderr).toMatchObject({ code: 0 });
    expect((await readFile(file)).includes(SAMPLE)).toBe(true);
    await change({ offload_after_days: null });
    expect(await done('/manage/offload/return?wait=true')).toEqual({
      objects: 1,
      bytes: LARGE.length,
      missing: 0,
    });
    expect(sha256Of(await readFile(blobOf(large)))).toBe(large);
    expect(await state()).toMatchObject({ offloaded_objects: 0, offloaded_bytes: 0 });
  });

  test('is named as away where an export cannot read its copy', async () => {
    const { small } = await offloaded();
    await rename(place, `${place}-away`);
    const file = join(await temporaryFolder(), 'archive.zip');
    const args = ['export', '--data', node.dataFolder, '--out', file];
    expect(await problemOf(await node.fetchAsOwner('/manage/archive.zip'))).toMatchObject({
      status: 503,
      code: 'copy_unreachable',
    });
    const byNode = await runHere(args);
    expect(byNode.code).toBe(1);
    expect(byNode.stderr).toContain('the copy that holds it cannot be read');
    await node.close();
    const here = await runHere(args);
    expect(here).toEqual(byNode);
    expect(here.stderr).not.toContain('damaged');
    expect(existsSync(file)).toBe(false);
    await rename(`${place}-away`, place);
    expect(await runHere(args)).toMatchObject({ code: 0 });
    expect(existsSync(blobOf(small))).toBe(false);
  });

  test('comes back from its copy after the database was rebuilt, although no audit has missed it', async () => {
    const { small, large } = await offloaded();
    const dump = await (await node.fetch('/api/dump.jsonl')).text();
    const { dataFolder } = node;
    await node.close();
    await writeFile(join(dataFolder, 'dump.jsonl'), dump);
    for (const ending of ['', '-wal', '-shm']) await rm(databaseFile(dataFolder) + ending, { force: true });
    expect(await runHere(['rebuild', dataFolder])).toMatchObject({ code: 1 });
    node = await openTestNode({ dataFolder });
    copy = await addCopy(place);
    await sync();
    expect(await check()).toMatchObject({ ok: true, restored: 2 });
    expect(await readFile(blobOf(small), 'utf8')).toBe('one');
    expect(sha256Of(await readFile(blobOf(large)))).toBe(large);
    expect(await (await node.fetch('/api/damages')).json()).toMatchObject({ total: 0 });
  });

  test('is read after a restart, and by nobody who finds other bytes in the copy later', async () => {
    const { small } = await offloaded();
    const { dataFolder } = node;
    await node.close();
    node = await openTestNode({ dataFolder });
    expect((await bytesOf(`/api/blobs/${small}`)).bytes.toString()).toBe('one');
    await appendFile(copied(small), '!');
    expect(await check()).toMatchObject({ ok: false });
  });
});

test('verifying a data folder says which objects are in a copy and not on this disk', async () => {
  await offloaded();
  const { dataFolder } = node;
  await node.close();
  const { stdout } = await runHere(['verify', dataFolder]);
  expect(stdout).toContain(
    `2 objects are in the copy ${copy.target}, not on this disk. Verify that copy with: strongroom verify ${copy.target}`,
  );
  const json = (await runHere(['verify', dataFolder, '--json'])).stdout.trimEnd().split('\n').at(-1) ?? '';
  expect(JSON.parse(json)).toMatchObject({ elsewhere: [{ target: copy.target, objects: 2 }] });
});
