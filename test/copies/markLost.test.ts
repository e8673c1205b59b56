import { existsSync } from 'node:fs';
import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Copy } from '../../shared/node/copy.ts';
import { problemOf, sampleRecord, uploadNewPack } from '../support/archive/packs.ts';
import { runCommand } from '../support/cli.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';

let place: string;
let node: TestNode;
let copy: Copy;
/** The digests of two offloaded objects for the copy. */
let away: string[];

beforeEach(async () => {
  place = join(await temporaryFolder(), 'copy');
  node = await openTestNode();
  copy = await addCopy(place);
  const { files } = await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one', 'b.txt': 'two' });
  away = files.map(({ sha256 }) => sha256);
  await done('POST', `/manage/copies/${copy.id}/sync?wait=true`);
  await done('POST', `/manage/copies/${copy.id}/check?wait=true`);
  await node.sendJson('PATCH', '/manage/settings', { offload_after_days: 0 });
  await done('POST', '/manage/offload?wait=true');
  expect(await read('/manage/offload')).toMatchObject({ offloaded_objects: 2 });
});
afterEach(closeTestNodes);

async function addCopy(folder: string): Promise<Copy> {
  const answer = await node.sendJson('POST', '/manage/copies', { target: pathToFileURL(folder).href });
  return (await answer.json()) as Copy;
}

async function done(method: string, path: string): Promise<unknown> {
  const answer = await node.fetchAsOwner(path, { method });
  expect(answer.status, await answer.clone().text()).toBe(200);
  return answer.json();
}

const read = async (path: string) => (await node.fetchAsOwner(path)).json();
const markLost = (id = copy.id) =>
  node.fetchAsOwner(`/manage/copies/${id}/mark-lost?wait=true`, { method: 'POST' });

test('a copy that can be read is not given up', async () => {
  expect(await problemOf(await markLost())).toMatchObject({ status: 409, code: 'copy_readable' });
  expect(await read('/manage/offload')).toMatchObject({ offloaded_objects: 2 });
  expect((await markLost('cp_00000000000000000000')).status).toBe(404);
});

test('what only a lost copy held is recorded as damaged, reads say so, and the same bytes repair it', async () => {
  await rm(place, { recursive: true });
  const [one = '', two = ''] = away;
  expect((await node.fetch(`/api/blobs/${one}`)).status).toBe(503);
  const before = (await read('/api/ledger')) as { total: number };
  expect(await (await markLost()).json()).toEqual({ objects: 2, bytes: 6, restored: 0 });
  expect(await read('/manage/copies')).toMatchObject({ items: [] });
  expect(await read('/manage/offload')).toMatchObject({
    offloaded_objects: 0,
    offloaded_bytes: 0,
    only_in: [],
  });
  const { items } = (await read('/api/damages')) as { items: { sha256: string }[] };
  expect(items.map(({ sha256 }) => sha256).sort()).toEqual([...away].sort());
  expect(items).toMatchObject([
    { problem: 'missing', found: null, restored_at: null },
    { problem: 'missing', found: null, restored_at: null },
  ]);
  const after = (await read('/api/ledger')) as { total: number };
  expect(after.total).toBe(before.total + 2);
  for (const sha256 of away)
    expect(await problemOf(await node.fetch(`/api/blobs/${sha256}`))).toMatchObject({ code: 'blob_damaged' });
  expect(await read('/api/ledger/verify')).toMatchObject({ ok: true });
  await uploadNewPack(node, sampleRecord({ title: 'Again' }), { 'a.txt': 'one' });
  expect(await (await node.fetch(`/api/blobs/${one}`)).text()).toBe('one');
  expect((await node.fetch(`/api/blobs/${two}`)).ok).toBe(false);
});

test('what was damaged in the copy before does not count as having left this disk any more', async () => {
  const [one = '', two = ''] = away;
  await writeFile(join(place, 'archive', one), '0ne');
  expect(await problemOf(await node.fetch(`/api/blobs/${one}`))).toMatchObject({ code: 'blob_damaged' });
  expect(await read('/api/damages')).toMatchObject({ total: 1 });
  await rm(place, { recursive: true });
  expect(await (await markLost()).json()).toEqual({ objects: 1, bytes: 3, restored: 0 });
  expect(await read('/manage/offload')).toMatchObject({ offloaded_objects: 0, offloaded_bytes: 0 });
  expect(await read('/api/damages')).toMatchObject({ total: 2 });
  for (const sha256 of [one, two])
    expect(await problemOf(await node.fetch(`/api/blobs/${sha256}`))).toMatchObject({ code: 'blob_damaged' });
  await uploadNewPack(node, sampleRecord({ title: 'Again' }), { 'a.txt': 'one', 'b.txt': 'two' });
  for (const sha256 of [one, two]) expect((await node.fetch(`/api/blobs/${sha256}`)).status).toBe(200);
});

test('what is still in the cache or in another copy is not lost', async () => {
  const [one = '', two = ''] = away;
  expect(await (await node.fetch(`/api/blobs/${one}`)).text()).toBe('one');
  const other = join(await temporaryFolder(), 'other');
  const { id } = await addCopy(other);
  await done('POST', `/manage/copies/${id}/sync?wait=true`);
  await rm(place, { recursive: true });
  expect(await (await markLost()).json()).toEqual({ objects: 0, bytes: 0, restored: 0 });
  await rm(join(other, 'strongroom.json'));
  await rm(join(other, 'archive', two));
  expect(await (await markLost(id)).json()).toEqual({ objects: 1, bytes: 3, restored: 1 });
  expect(await (await node.fetch(`/api/blobs/${one}`)).text()).toBe('one');
  expect(await problemOf(await node.fetch(`/api/blobs/${two}`))).toMatchObject({ code: 'blob_damaged' });
});

test('what the place still holds comes back, also if it no longer says whose copy it is', async () => {
  const [one = '', two = ''] = away;
  await rm(join(place, 'strongroom.json'));
  await writeFile(join(place, 'archive', two), 'tw0');
  expect(await (await markLost()).json()).toEqual({ objects: 1, bytes: 3, restored: 1 });
  expect(await (await node.fetch(`/api/blobs/${one}`)).text()).toBe('one');
  const { items } = (await read('/api/damages')) as { items: { sha256: string }[] };
  expect(items.map(({ sha256 }) => sha256)).toEqual([two]);
});

test('what another copy holds is not lost, also if that is not recorded', async () => {
  const other = join(await temporaryFolder(), 'other');
  await addCopy(other);
  await mkdir(join(other, 'archive'));
  // As after a sync of the other copy that was killed.
  for (const sha256 of away) await copyFile(join(place, 'archive', sha256), join(other, 'archive', sha256));
  await rm(place, { recursive: true });
  expect(await (await markLost()).json()).toEqual({ objects: 0, bytes: 0, restored: 0 });
  expect(await read('/api/damages')).toMatchObject({ total: 0 });
  expect(await read('/manage/offload')).toMatchObject({ offloaded_objects: 2, only_in: [{ objects: 2 }] });
  for (const sha256 of away) expect((await node.fetch(`/api/blobs/${sha256}`)).status).toBe(200);
});

test('the command asks first, and gives up with --yes', async () => {
  await rm(place, { recursive: true });
  const command = ['copy', place, '--mark-lost', '--data', node.dataFolder];
  await node.close();
  const unasked = await runCommand(command);
  expect(unasked).toMatchObject({ code: 2, stderr: expect.stringContaining('Add --yes') as string });
  const lost = await runHere([...command, '--yes', '--json']);
  expect(JSON.parse(lost.stdout)).toMatchObject({ ok: true, id: copy.id, objects: 2, bytes: 6, restored: 0 });
  expect(existsSync(place)).toBe(false);
  expect(await runHere([...command, '--yes'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('has no copy in') as string,
  });
});
