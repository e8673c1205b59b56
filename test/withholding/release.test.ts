import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, expect, test } from 'vitest';
import type { Release, ReleasePreview } from '../../shared/node/withheld.ts';
import { type CollectingNode, openCollectingNode } from '../collection/support.ts';
import { audit, fileOf, fixityOf, overwrite } from '../fixity/support.ts';
import { filesOf, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { eventually } from '../support/eventually.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, DERIVING, openTestNode, type TestNode } from '../support/node.ts';
import { isClean } from './support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const release = (node: TestNode, sha256: string, note?: string) =>
  node.sendJson('POST', '/manage/released', { sha256, reason: 'legal_order', ...(note && { note }) });

async function releases(node: TestNode): Promise<Release[]> {
  return ((await (await node.fetch('/api/released?limit=500')).json()) as { items: Release[] }).items;
}

/** Returns the files of a data folder that contain a text. */
async function filesWith(folder: string, text: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (entry.isFile() && (await readFile(file)).includes(text)) found.push(file.slice(folder.length + 1));
  }
  return found;
}

function counterOf(folder: string, name: string): unknown {
  const database = new Database(join(folder, 'strongroom.db'), { readonly: true });
  try {
    return database.prepare('SELECT value FROM counters WHERE name = ?').pluck().get(name);
  } finally {
    database.close();
  }
}

/** A source with three versions, whose texts are indexed and whose changes are summarized. */
async function threeVersions(): Promise<{
  node: CollectingNode;
  versions: string[];
  web: ScriptedWeb;
  id: string;
}> {
  const web = await ScriptedWeb.open();
  const node = await openCollectingNode({}, DERIVING);
  const notes = (word: string) =>
    page(`<html><title>Notes</title><body><h1>Notes</h1><p>A ${word} afternoon.</p></body></html>`);
  web.script('/notes', notes('quibblesome'), notes('frangipane'), notes('zymurgical'), notes('frangipane'));
  const { id } = await node.watch(web.url('/notes'));
  for (let round = 0; round < 3; round += 1) await node.check();
  const events = await node.summarizedEvents();
  for (const { id: event } of events.filter(({ event_type }) => event_type === 'changed'))
    expect((await node.node.fetch(`/api/events/${event}/diff`)).status).toBe(200);
  await eventually(async () => {
    for (const word of ['quibblesome', 'frangipane', 'zymurgical'])
      expect(await node.read(`/api/search?q=${word}`)).toMatchObject({ total: 1 });
  });
  const versions = events.map(({ sha256 }) => String(sha256)).reverse();
  return { node, versions, web, id };
}

test('released bytes are gone from the disk, with everything that was made of them, and the record stays', async () => {
  const { node, versions, id } = await threeVersions();
  const [first = '', second = '', third = ''] = versions;
  const folder = node.node.dataFolder;
  const held = async () => (await node.read<{ held_bytes: number }>('/manage/storage')).held_bytes;
  const before = await held();
  const answer = await release(node.node, second, 'Order 12/26.');
  expect(answer.status).toBe(201);
  const recorded = (await answer.json()) as Release;
  expect(recorded).toMatchObject({ sha256: second, reason: 'legal_order', note: 'Order 12/26.' });
  expect((await release(node.node, second)).status, 'again').toBe(200);
  expect(await readFile(fileOf(folder, second)).catch(() => null)).toBeNull();
  expect(await filesWith(join(folder, 'blobs'), 'frangipane')).toEqual([]);
  expect(await releases(node.node)).toEqual([recorded]);

  for (const path of [`/archive/${second}`, `/api/blobs/${second}`]) {
    const gone = await node.node.fetchAsOwner(path);
    expect(gone.status, path).toBe(410);
    expect(await gone.json()).toMatchObject({ code: 'released' });
  }
  expect(await node.read('/api/search?q=frangipane')).toMatchObject({ total: 0 });
  const events = await node.events('summaries=true');
  expect(events.map(({ sha256 }) => sha256).reverse(), 'the events stay').toEqual(versions);
  expect(JSON.stringify(events)).not.toContain('frangipane');
  for (const { id: event } of events.slice(0, 2))
    expect(await (await node.node.fetchAsOwner(`/api/events/${event}/diff`)).json()).toMatchObject({
      code: 'released',
    });
  expect(await node.retrievals(id)).toHaveLength(3);

  expect(await fixityOf(node.node)).toMatchObject({ damaged_objects: 0, released_objects: 1 });
  expect(before - (await held())).toBe(recorded.bytes);
  expect(await node.read('/manage/storage')).toMatchObject({
    released_objects: 1,
    released_bytes: recorded.bytes,
  });

  expect(await audit(node.node)).toMatchObject({
    checked: 2,
    damaged_objects: 0,
    released_objects: 1,
    unnamed_objects: 0,
    lost_and_found_objects: 0,
    database: { ok: true },
  });
  expect(await node.read('/api/ledger/verify')).toMatchObject({ ok: true, problems: [] });
  expect(await node.read('/api/damages')).toMatchObject({ total: 0 });
  for (const other of [first, third]) expect((await node.node.fetch(`/archive/${other}`)).status).toBe(200);
});

test('nothing of released bytes is derived again, also after a restart', async () => {
  const { node, versions } = await threeVersions();
  for (const sha256 of versions) expect((await release(node.node, sha256)).status).toBe(201);
  const { dataFolder } = node.node;
  await node.node.close();
  const again = await openTestNode({ dataFolder, ...DERIVING });
  await uploadNewPack(again, { files: filesOf({ 'a.txt': 'A later text.' }) }, { 'a.txt': 'A later text.' });
  await eventually(async () =>
    expect(await (await again.fetch('/api/search?q=later')).json()).toMatchObject({ total: 1 }),
  );
  expect(await (await again.fetch('/api/search?q=afternoon')).json()).toMatchObject({ total: 0 });
  expect(await fixityOf(again)).toMatchObject({ damaged_objects: 0, released_objects: 3 });
  // The words leave the index itself, too, which the database shows that is copied back from its log.
  await isClean(again);
  expect(counterOf(dataFolder, 'released_objects')).toBe(3);
  await again.close();
  for (const word of ['quibblesome', 'frangipane', 'zymurgical'])
    expect(await filesWith(dataFolder, word), word).toEqual([]);
});

test('bytes that arrive again are recorded and not kept', async () => {
  const { node, versions, id } = await threeVersions();
  const [, second = ''] = versions;
  await release(node.node, second);
  await node.check();
  const [last] = await node.events();
  expect(last).toMatchObject({ event_type: 'changed', sha256: second });
  expect((await node.retrievals(id)).at(-1)).toMatchObject({ sha256: second, error: null });
  expect(await filesWith(join(node.node.dataFolder, 'blobs'), 'frangipane')).toEqual([]);
  expect(await filesWith(join(node.node.dataFolder, 'tmp'), 'frangipane')).toEqual([]);
  await node.check();
  expect(await node.events(), 'the same again is no change').toHaveLength(4);
  expect((await node.node.fetchAsOwner(`/archive/${second}`)).status).toBe(410);
  expect(await audit(node.node)).toMatchObject({ damaged_objects: 0, released_objects: 1 });
  expect(await node.read('/api/search?q=frangipane')).toMatchObject({ total: 0 });
});

test('a pack with a released file is refused, by upload and by reference; one that has it verifies as released', async () => {
  const node = await openTestNode();
  const files = { 'data.csv': 'word\nobnubilate\n', 'other.csv': 'word\nother\n' };
  const { id } = await uploadNewPack(node, { files: filesOf(files) }, files);
  const sha256 = sha256Of(files['data.csv']);
  expect((await release(node, sha256)).status).toBe(201);
  const verified = (await (await node.fetch(`/api/packs/${id}/verify`)).json()) as {
    ok: boolean;
    checks: { path?: string; ok: boolean; released?: true }[];
  };
  expect(verified.ok).toBe(true);
  expect(verified.checks.find(({ path }) => path === 'data.csv')).toMatchObject({ ok: true, released: true });
  expect(verified.checks.find(({ path }) => path === 'other.csv')).not.toHaveProperty('released');

  const record = { title: 'Another', files: filesOf({ 'again.csv': files['data.csv'] }) };
  await expect(uploadNewPack(node, record, { 'again.csv': files['data.csv'] })).rejects.toThrow();
  const draft = (await (
    await node.sendJson('POST', '/manage/drafts', { record: { title: 'D' } })
  ).json()) as {
    id: string;
  };
  const put = await node.fetchAsOwner(`/manage/drafts/${draft.id}/files?path=x.csv`, {
    method: 'PUT',
    body: files['data.csv'],
    headers: { 'Content-Type': 'application/octet-stream' },
  });
  expect(put.status).toBe(410);
  expect(await put.json()).toMatchObject({ code: 'released' });
  expect(await filesWith(node.dataFolder, 'obnubilate')).toEqual([]);
  // The same record again is the same pack, and brings nothing back.
  await uploadNewPack(node, { files: filesOf(files) }, files).catch(() => {});
  expect(await filesWith(join(node.dataFolder, 'blobs'), 'obnubilate')).toEqual([]);
});

test('a release removes the file of a draft, what lies in lost-and-found, and what was set aside as damaged', async () => {
  const node = await openTestNode();
  const files = { 'data.csv': 'word\nobnubilate\n' };
  await uploadNewPack(node, { files: filesOf(files) }, files);
  const sha256 = sha256Of(files['data.csv']);
  const draft = (await (
    await node.sendJson('POST', '/manage/drafts', { record: { title: 'D' } })
  ).json()) as {
    id: string;
  };
  await node.fetchAsOwner(`/manage/drafts/${draft.id}/files?path=x.csv`, {
    method: 'PUT',
    body: files['data.csv'],
    headers: { 'Content-Type': 'application/octet-stream' },
  });
  await node.close();
  const { dataFolder } = node;
  for (const [folder, name] of [
    ['lost-and-found', sha256],
    ['damaged', `${sha256}.${sha256Of('obnubilate, damaged')}`],
  ] as const) {
    await mkdir(join(dataFolder, folder), { recursive: true });
    await writeFile(join(dataFolder, folder, name), 'obnubilate');
  }
  const again = await openTestNode({ dataFolder });
  await overwrite(dataFolder, sha256, 'word\nobnubilate!');
  expect(await audit(again)).toMatchObject({ damaged_objects: 1 });
  expect((await release(again, sha256)).status).toBe(201);
  expect(await filesWith(dataFolder, 'obnubilate')).toEqual([]);
  expect(await fixityOf(again), 'neither damaged nor lost').toMatchObject({
    damaged_objects: 0,
    damaged: [],
    released_objects: 1,
  });
  const kept = await (await again.fetchAsOwner(`/manage/drafts/${draft.id}`)).json();
  expect(kept).toMatchObject({ files: [{ path: 'x.csv', contents: 'missing' }] });
  // Somebody puts the file back from a backup.
  await overwrite(dataFolder, sha256, files['data.csv']);
  expect((await again.fetchAsOwner(`/api/blobs/${sha256}`)).status).toBe(410);
  expect(await audit(again)).toMatchObject({ damaged_objects: 0, unnamed_objects: 0, released_objects: 1 });
  expect(await filesWith(dataFolder, 'obnubilate')).toEqual([]);
});

test('a preview names what a release takes away', async () => {
  const { node, versions, id } = await threeVersions();
  const [first = '', second = ''] = versions;
  const files = { 'notes.html': await (await node.node.fetch(`/archive/${second}`)).text() };
  const pack = await uploadNewPack(node.node, { title: 'Notes kept', files: filesOf(files) }, files);
  const [event] = (await node.events()).filter(({ sha256 }) => sha256 === second);
  const created = async (path: string, body: object) =>
    (await (await node.node.sendJson('POST', path, body)).json()) as { id: string };
  const finding = await created('/manage/findings', {
    target: { kind: 'event', id: String(event?.id) },
    text: 'Look here.',
  });
  const own = await created('/manage/cases', {
    title: 'The case',
    items: [{ kind: 'event', id: String(event?.id) }],
  });
  const preview = async (sha256: string) =>
    node.read<ReleasePreview>(`/manage/released/preview?sha256=${sha256}`);
  expect(await preview(second)).toMatchObject({
    sha256: second,
    is_released: false,
    is_here: true,
    packs: { total: 1, items: [{ id: pack.id, title: 'Notes kept', path: 'notes.html' }] },
    sources: { total: 1, items: [{ id, retrievals: 1 }] },
    events: { total: 2 },
    pages: { total: 0 },
    findings: { total: 1, items: [{ id: finding.id, text: 'Look here.' }] },
    cases: { total: 1, items: [{ id: own.id, title: 'The case' }] },
    copies: { total: 0 },
  });
  expect(await preview(first)).toMatchObject({ packs: { total: 0 }, events: { total: 2 } });
  await release(node.node, second);
  expect(await preview(second)).toMatchObject({ is_released: true, is_here: false });
  expect((await node.node.fetch(`/manage/released/preview?sha256=${second}`)).status).toBe(401);
  const unknown = await node.node.fetchAsOwner(`/manage/released/preview?sha256=${'0'.repeat(64)}`);
  expect(unknown.status).toBe(404);
});
