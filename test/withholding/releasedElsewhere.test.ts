import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { imported } from '../collection/captures/support.ts';
import { openCollectingNode } from '../collection/support.ts';
import { audit, damages, fileOf, fixityOf, objectEntries, overwrite } from '../fixity/support.ts';
import { filesOf, sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { response } from '../support/warcFiles.ts';

afterEach(closeTestNodes);

async function release(node: TestNode, sha256: string): Promise<void> {
  const answer = await node.sendJson('POST', '/manage/released', { sha256, reason: 'owner' });
  expect(answer.status, await answer.clone().text()).toBe(201);
}

/** A node with a pack of two files, of which the first was damaged and then released. */
async function releasedPack(): Promise<{ node: TestNode; sha256: string; kept: string; pack: string }> {
  const node = await openTestNode();
  const files = { 'a.txt': 'given up', 'b.txt': 'kept' };
  const { id } = await uploadNewPack(node, sampleRecord({ files: filesOf(files) }), files);
  const sha256 = sha256Of(files['a.txt']);
  await overwrite(node.dataFolder, sha256, 'other');
  expect(await audit(node)).toMatchObject({ damaged_objects: 1 });
  await release(node, sha256);
  return { node, sha256, kept: sha256Of(files['b.txt']), pack: id };
}

test('an archive that is restored from a dump knows what was released, and keeps no bytes of it', async () => {
  const { node, sha256, kept } = await releasedPack();
  const folder = await temporaryFolder();
  const dump = join(folder, 'dump.jsonl');
  await writeFile(dump, await (await node.fetch('/api/dump.jsonl')).text());
  expect((await runHere(['verify', dump])).code).toBe(0);
  const data = join(folder, 'data');
  expect((await runHere(['import', dump, '--data', data])).code).toBe(0);
  // As one does after a restore: the blobs are put back from an old backup.
  await overwrite(data, sha256, 'given up');
  await overwrite(data, kept, 'kept');
  const audited = await runHere(['audit', '--data', data]);
  expect(audited.stdout).toContain('1 object was released');
  expect(audited.stdout).toContain('Everything is intact: 1 object');
  expect(audited.stdout + audited.stderr).not.toMatch(/missing:|damaged of|its bytes are missing/);
  expect(audited.code).toBe(0);
  expect(JSON.parse((await runHere(['audit', '--data', data, '--json'])).stdout)).toMatchObject({
    ok: true,
    checked: 1,
    released_objects: 1,
  });
  expect(existsSync(fileOf(data, sha256)), 'the file from the backup').toBe(false);
  const restored = await openTestNode({ dataFolder: data });
  expect(await objectEntries(restored)).toEqual(await objectEntries(node));
  expect(await damages(restored), 'the damage of then stays on record').toEqual(await damages(node));
  expect(await fixityOf(restored)).toMatchObject({ damaged_objects: 0, released_objects: 1 });
  expect(await (await restored.fetch('/api/released')).json()).toEqual(
    await (await node.fetch('/api/released')).json(),
  );
});

test('an exported archive holds no released bytes, and verifies and imports without them', async () => {
  const { node, sha256 } = await releasedPack();
  const folder = await temporaryFolder();
  const file = join(folder, 'archive.zip');
  const exported = await node.fetchAsOwner('/manage/archive.zip');
  expect(exported.status).toBe(200);
  await writeFile(file, new Uint8Array(await exported.arrayBuffer()));
  const verified = await runHere(['verify', file]);
  expect(verified.stdout + verified.stderr).not.toMatch(/missing|changed/);
  expect(verified.code).toBe(0);
  const data = join(folder, 'data');
  expect((await runHere(['import', file, '--data', data])).code).toBe(0);
  const next = await openTestNode({ dataFolder: data });
  expect(await audit(next)).toMatchObject({ checked: 1, damaged_objects: 0, released_objects: 1 });
  expect((await next.fetchAsOwner(`/api/blobs/${sha256}`)).status).toBe(410);
  const against = join(folder, 'a.txt');
  await writeFile(against, 'given up');
  const unknown = await runHere(['verify', against, '--against', next.url]);
  expect(unknown.stdout).toContain('released it');
});

test('a running folder is audited by another program without a word of loss', async () => {
  const { node } = await releasedPack();
  const audited = await runHere(['audit', '--data', node.dataFolder]);
  expect(audited).toMatchObject({ code: 0 });
  expect(audited.stdout).toContain('1 object was released');
  const verified = await runHere(['verify', node.dataFolder]);
  expect(verified.stdout).toContain('1 object was released');
  expect(verified.stdout).not.toMatch(/missing: |changed: /);
});

test('captures of released bytes are recorded and bring nothing back', async () => {
  const node = await openCollectingNode();
  const body = 'a capture of some words';
  const sha256 = sha256Of(body);
  const capture = (date: string) => response(body, { date, uri: 'http://captured.example/' });
  await imported(node, capture('2020-01-01T12:00:00Z'));
  expect((await node.node.fetch(`/archive/${sha256}`)).status).toBe(200);
  await release(node.node, sha256);
  const result = await imported(node, capture('2021-01-01T12:00:00Z'));
  expect(result).toMatchObject({ refused: [] });
  const facts = await node.read<{ retrievals: unknown[] }>(`/archive/${sha256}/metadata`);
  expect(facts.retrievals).toHaveLength(2);
  expect(existsSync(fileOf(node.node.dataFolder, sha256))).toBe(false);
  expect(await audit(node.node)).toMatchObject({ damaged_objects: 0, released_objects: 1 });
});

test('a released object that was offloaded is forgotten here, in the cache too', async () => {
  const node = await openTestNode();
  const files = { 'a.txt': 'far away', 'b.txt': 'near' };
  await uploadNewPack(node, sampleRecord({ files: filesOf(files) }), files);
  const sha256 = sha256Of(files['a.txt']);
  const target = pathToFileURL(join(await temporaryFolder(), 'copy')).href;
  const copy = (await (await node.sendJson('POST', '/manage/copies', { target })).json()) as { id: string };
  const done = async (path: string) => {
    const answer = await node.sendJson('POST', path, {});
    expect(answer.status, await answer.clone().text()).toBe(200);
    return answer.json();
  };
  await done(`/manage/copies/${copy.id}/sync?wait=true`);
  await done(`/manage/copies/${copy.id}/check?wait=true`);
  await node.sendJson('PATCH', '/manage/settings', { offload_after_days: 0 });
  expect((await node.fetchAsOwner('/manage/offload?wait=true', { method: 'POST' })).status).toBe(200);
  expect(existsSync(fileOf(node.dataFolder, sha256))).toBe(false);
  expect(await (await node.fetch(`/api/blobs/${sha256}`)).text()).toBe('far away');
  const state = async () => (await node.fetchAsOwner('/manage/offload')).json();
  expect(await state()).toMatchObject({ offloaded_objects: 2, cached_bytes: 8 });
  const preview = await node.fetchAsOwner(`/manage/released/preview?sha256=${sha256}`);
  expect(await preview.json()).toMatchObject({
    is_here: false,
    copies: { total: 1, items: [{ id: copy.id }] },
  });
  await release(node, sha256);
  expect(await state()).toMatchObject({
    offloaded_objects: 1,
    offloaded_bytes: 4,
    cached_bytes: 0,
    local_bytes: 0,
  });
  expect((await node.fetchAsOwner(`/api/blobs/${sha256}`)).status).toBe(410);
  await node.sendJson('PATCH', '/manage/settings', { offload_after_days: null });
  await node.fetchAsOwner('/manage/offload?wait=true', { method: 'DELETE' });
  expect(existsSync(fileOf(node.dataFolder, sha256))).toBe(false);
  expect(await audit(node)).toMatchObject({ damaged_objects: 0, released_objects: 1 });
});
