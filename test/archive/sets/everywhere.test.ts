import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import Database from 'better-sqlite3';
import { afterEach, expect, test } from 'vitest';
import { databaseFile } from '../../../server/store/files.ts';
import type { Pack } from '../../../shared/archive/pack.ts';
import type { DataSet } from '../../../shared/archive/set.ts';
import { harvestAll } from '../../harvesting/harvester.ts';
import { addPeer, expectVerified, mirror } from '../../peers/support.ts';
import { problemOf, sha256Of, uploadNewPack } from '../../support/archive/packs.ts';
import { partsByHand, publishedSet, uploadManifest } from '../../support/archive/sets.ts';
import { ManualClock } from '../../support/manualClock.ts';
import { share } from '../../support/network/sharing.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../../support/node.ts';
import { runHere } from '../../support/runHere.ts';

afterEach(closeTestNodes);

const OPTIONS = { packBytes: 10_000 };

async function textOf(node: TestNode, path: string): Promise<string> {
  return (await node.fetch(path)).text();
}

async function requireServed(
  node: TestNode,
  { id }: Pack,
  files: Readonly<Record<string, Uint8Array>>,
): Promise<void> {
  const set = JSON.parse(await textOf(node, `/api/packs/${id}/set`)) as DataSet;
  expect(set.files.map(({ path }) => path)).toEqual(Object.keys(files));
  for (const [path, content] of Object.entries(files)) {
    const response = await node.fetch(`/api/packs/${id}/set/files/${encodeURI(path)}`);
    expect(sha256Of(await response.bytes())).toBe(sha256Of(content));
  }
  expect(JSON.parse(await textOf(node, '/api/packs'))).toMatchObject({ total: 1 });
  expect(JSON.parse(await textOf(node, `/api/packs/${id}/verify`))).toMatchObject({ ok: true });
}

test('harvesters, sitemaps and citations have a set once, with the size of its files', async () => {
  const clock = new ManualClock();
  const node = await openTestNode({ ...OPTIONS, clock });
  const { manifest } = await publishedSet(node);
  await share(node, 'read');
  // The manifest was recorded in this second, and a harvest ends with the last complete one.
  await clock.jump(2_000);
  expect((await harvestAll(node)).ids).toEqual([manifest.id]);
  const [name = ''] = /sitemap\/packs[^<]*/.exec(await textOf(node, '/sitemap.xml')) ?? [];
  expect((await textOf(node, `/${name}`)).match(/pk_[0-9a-f]{20}/g)).toEqual([manifest.id]);
  const cited = await textOf(node, `/api/items/${manifest.id}/cite?format=datacite`);
  expect(JSON.parse(cited)).toMatchObject({ sizes: ['34000 bytes', '4 files'] });
});

test('a mirror brings the parts of a set before its manifest', async () => {
  const peer = await openTestNode(OPTIONS);
  const { manifest, files } = await publishedSet(peer);
  const node = await openTestNode();
  const result = await mirror(node, await addPeer(node, peer.url), { packs: { q: 'Cuxhaven' } });
  expect(result).toMatchObject({ packs: 5, refused: [] });
  await requireServed(node, manifest, files);
  await expectVerified(node);
});

test('a copy and what is restored from it hold a set, and its parts are not listed', async () => {
  const node = await openTestNode(OPTIONS);
  const { manifest, files } = await publishedSet(node);
  await node.close();
  const folder = await temporaryFolder();
  const place = join(folder, 'copy');
  expect(await runHere(['copy', place, '--data', node.dataFolder])).toMatchObject({ code: 0, stderr: '' });
  const data = join(folder, 'restored');
  expect(await runHere(['restore', place, '--data', data])).toMatchObject({ code: 0 });
  const restored = await openTestNode({ dataFolder: data });
  await requireServed(restored, manifest, files);
  const response = await restored.fetch(`/api/packs/${manifest.id}/set/download`);
  expect((await response.bytes()).length).toBe(Number(response.headers.get('Content-Length')));
});

/** Publishes a set by hand, over packs of a study that do not say they are parts. */
async function setByHand(node: TestNode): Promise<{ manifest: Pack; study: string; parts: string[] }> {
  const created = await node.sendJson('POST', '/api/studies', { title: 'Drift at Cuxhaven' });
  const { id: study } = (await created.json()) as { id: string };
  const { manifest } = await partsByHand(node, { study });
  const pack = (await (await uploadManifest(node, manifest)).json()) as Pack;
  return { manifest: pack, study, parts: manifest.files[0]?.parts.map((part) => part.pack) ?? [] };
}

test('a set by hand is listed once in a mirror, but takes no pack that was there before', async () => {
  const peer = await openTestNode();
  const { manifest } = await setByHand(peer);
  const node = await openTestNode();
  await mirror(node, await addPeer(node, peer.url), { packs: { q: manifest.id } });
  expect(JSON.parse(await textOf(node, '/api/packs'))).toMatchObject({ total: 1 });
  await expectVerified(node);
  const other = await openTestNode();
  const { manifest: list } = await partsByHand(other);
  const again = await openTestNode();
  await partsByHand(again);
  await uploadManifest(other, list);
  await mirror(again, await addPeer(again, other.url), { packs: true });
  expect(JSON.parse(await textOf(again, '/api/packs'))).toMatchObject({ total: 3 });
});

test('a set by hand is listed once after a restore, and its parts are in no study', async () => {
  const node = await openTestNode();
  const { manifest, study } = await setByHand(node);
  expect(JSON.parse(await textOf(node, `/api/studies/${study}`))).toMatchObject({ counts: { packs: 0 } });
  await node.close();
  const folder = await temporaryFolder();
  const place = join(folder, 'copy');
  expect(await runHere(['copy', place, '--data', node.dataFolder])).toMatchObject({ code: 0, stderr: '' });
  const data = join(folder, 'restored');
  expect(await runHere(['restore', place, '--data', data])).toMatchObject({ code: 0 });
  // Known before a node opens it: until then its parts would be listed.
  expect(setsIn(data)).toBe(1);
  const restored = await openTestNode({ dataFolder: data });
  expect(JSON.parse(await textOf(restored, '/api/packs'))).toMatchObject({
    total: 1,
    items: [{ id: manifest.id }],
  });
  expect(JSON.parse(await textOf(restored, `/api/studies/${study}`))).toMatchObject({ counts: { packs: 0 } });
  expect(JSON.parse(await textOf(restored, '/api/ledger/verify'))).toMatchObject({ ok: true });
  const file = join(folder, 'archive.zip');
  expect(await runHere(['export', '--data', node.dataFolder, '--out', file])).toMatchObject({ code: 0 });
  const again = join(folder, 'imported');
  expect(await runHere(['import', file, '--data', again])).toMatchObject({ code: 0, stderr: '' });
  expect(setsIn(again)).toBe(1);
});

function setsIn(folder: string): unknown {
  const database = new Database(databaseFile(folder), { readonly: true });
  try {
    return database.prepare('SELECT count(*) FROM sets').pluck().get();
  } finally {
    database.close();
  }
}

test('a set is withheld with its parts, and with no pack that does not say it is one', async () => {
  const node = await openTestNode(OPTIONS);
  const { manifest, files } = await publishedSet(node);
  const other = await uploadNewPack(node, { title: 'Another' }, { other: 'other' });
  const path = `/api/packs/${manifest.id}/set`;
  const blob = `/api/blobs/${sha256Of(files['b.csv'] ?? '')}`;
  const withheld = { pack: manifest.id, reason: 'copyright' };
  expect((await node.sendJson('POST', '/manage/withheld', withheld)).status).toBe(201);
  for (const each of [path, `${path}/files/b.csv`, `${path}/download`, blob])
    expect(await problemOf(node.fetch(each))).toMatchObject({ status: 451, code: 'withheld' });
  const owner = await node.fetchAsOwner(`${path}/files/b.csv`);
  expect([owner.status, owner.headers.get('Strongroom-Withheld')]).toEqual([200, 'copyright']);
  const zip = await node.fetchAsOwner(`${path}/download`);
  expect([zip.status, zip.headers.get('Cache-Control')]).toEqual([200, 'private, no-store']);
  await zip.bytes();
  expect((await node.fetch(`/api/packs/${other.id}/file`)).status).toBe(200);
  expect((await node.sendJson('DELETE', '/manage/withheld', { pack: manifest.id })).status).toBe(200);
  for (const each of [path, `${path}/files/b.csv`, blob]) expect((await node.fetch(each)).status).toBe(200);
});

test('a part of two withheld sets is shown with the last of them', async () => {
  const node = await openTestNode();
  const { manifest, parts } = await setByHand(node);
  const list = await (await node.fetch(`/api/blobs/${manifest.files[0]?.sha256}`)).text();
  const other = await uploadNewPack(node, { title: 'The same again' }, { 'set.json': list });
  const sets = [manifest.id, other.id];
  for (const pack of sets) await node.sendJson('POST', '/manage/withheld', { pack, reason: 'personal_data' });
  const file = `/api/packs/${parts[0]}/file`;
  for (const [shown, pack] of sets.entries()) {
    expect([shown, (await node.fetch(file)).status]).toEqual([shown, 451]);
    await node.sendJson('DELETE', '/manage/withheld', { pack });
  }
  expect((await node.fetch(file)).status).toBe(200);
});

test('a set that is not withheld is not shown, nor is a part that is withheld for itself', async () => {
  const node = await openTestNode();
  const { manifest, parts } = await setByHand(node);
  const [part] = parts;
  await node.sendJson('POST', '/manage/withheld', { pack: part, reason: 'personal_data' });
  const refused = await problemOf(node.sendJson('DELETE', '/manage/withheld', { pack: manifest.id }));
  expect(refused).toMatchObject({ status: 404, code: 'not_found' });
  expect((await node.fetch(`/api/packs/${part}/file`)).status).toBe(451);
});

test.each(['personal_data', 'copyright'])(
  'a part that is withheld for itself stays so when its set is withheld for %s and shown',
  async (reason) => {
    const root = await temporaryFolder();
    const [file, folder] = [join(root, 'archive.zip'), join(root, 'data')];
    const first = await openTestNode();
    const packs = await Promise.all(['a', 'b'].map((title) => uploadNewPack(first, { title }, { f: title })));
    const listed = packs.map(({ id, files: [file] }) => {
      const { path = '', bytes = 0, sha256 = '' } = file ?? {};
      return { path: id, bytes, sha256, parts: [{ pack: id, path, bytes, sha256 }] };
    });
    listed.sort((one, other) => (one.path < other.path ? -1 : 1));
    const answer = await uploadManifest(first, { format: 'strongroom-set@1', files: listed });
    expect(answer.status).toBe(201);
    const manifest = (await answer.json()) as Pack;
    const parts = packs.map(({ id }) => id);
    const files = parts.map((part) => `/api/packs/${part}/file`);
    const statuses = (of: TestNode) => Promise.all(files.map(async (each) => (await of.fetch(each)).status));
    await first.sendJson('POST', '/manage/withheld', { pack: parts[0], reason: 'personal_data' });
    await first.sendJson('POST', '/manage/withheld', { pack: manifest.id, reason });
    expect(await statuses(first)).toEqual([451, 451]);
    await first.close();
    expect(await runHere(['export', '--data', first.dataFolder, '--out', file])).toMatchObject({ code: 0 });
    expect(await runHere(['import', file, '--data', folder])).toMatchObject({ code: 0 });
    for (const dataFolder of [first.dataFolder, folder]) {
      const node = await openTestNode({ dataFolder });
      expect(await statuses(node)).toEqual([451, 451]);
      await node.sendJson('DELETE', '/manage/withheld', { pack: manifest.id });
      expect(await statuses(node)).toEqual([451, 200]);
    }
  },
);

test('a set whose reason is corrected is shown with its parts', async () => {
  const node = await openTestNode();
  const { manifest, parts } = await setByHand(node);
  for (const reason of ['personal_data', 'copyright'])
    await node.sendJson('POST', '/manage/withheld', { pack: manifest.id, reason });
  const file = `/api/packs/${parts[0]}/file`;
  expect(await problemOf(node.fetch(file))).toMatchObject({ status: 451, reason: 'copyright' });
  await node.sendJson('DELETE', '/manage/withheld', { pack: manifest.id });
  expect((await node.fetch(file)).status).toBe(200);
});

test('a file whose bytes were given up is gone, and the set still verifies', async () => {
  const node = await openTestNode(OPTIONS);
  const { manifest, files } = await publishedSet(node);
  const sha256 = sha256Of(files['b.csv'] ?? '');
  const released = await node.sendJson('POST', '/manage/released', { sha256, reason: 'personal_data' });
  expect(released.status).toBe(201);
  const path = `/api/packs/${manifest.id}/set`;
  expect((await problemOf(node.fetch(`${path}/files/b.csv`))).status).toBe(410);
  expect((await problemOf(node.fetch(`${path}/download`))).status).toBe(410);
  expect((await node.fetch(`${path}/files/large.bin`)).status).toBe(200);
  expect(JSON.parse(await textOf(node, `/api/packs/${manifest.id}/verify`))).toMatchObject({ ok: true });
});

test('a row that hides a pack which is no part is found by the verification of the ledger', async () => {
  const node = await openTestNode(OPTIONS);
  const pack = await uploadNewPack(node, {}, { 'a.csv': 'x' });
  await node.close();
  const database = new Database(join(node.dataFolder, 'strongroom.db'));
  database.prepare('UPDATE packs SET part_of = ? WHERE id = ?').run('0'.repeat(64), pack.id);
  database.close();
  const again = await openTestNode({ dataFolder: node.dataFolder });
  expect(JSON.parse(await textOf(again, '/api/ledger/verify'))).toMatchObject({ ok: false });
});

test('a node that stops right after it began to look for sets ends that first', async () => {
  const dataFolder = join(await temporaryFolder(), 'data');
  const node = await openTestNode({ ...OPTIONS, dataFolder });
  const { manifest } = await publishedSet(node);
  const sha256 = manifest.files[0]?.sha256 ?? '';
  await node.close();
  const folder = join(await temporaryFolder(), 'restored');
  const zip = join(await temporaryFolder(), 'copy');
  expect(await runHere(['copy', zip, '--data', dataFolder])).toMatchObject({ code: 0 });
  await rm(join(zip, 'archive', sha256));
  expect(await runHere(['restore', zip, '--data', folder])).toMatchObject({ code: 1 });
  expect(await runHere(['key', '--renew', '--data', folder])).toMatchObject({ code: 0 });
  const logged: string[] = [];
  const keep = (...line: unknown[]) => void logged.push(inspect(line, { depth: 9 }));
  const restored = await openTestNode({ dataFolder: folder, log: { info: keep, warn: keep, error: keep } });
  await restored.close();
  expect(logged.join('\n')).not.toMatch(/connection is not open|not all looked for/);
});
