import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { PageList } from '../../shared/collection/page.ts';
import { imported } from '../collection/captures/support.ts';
import { handIn } from '../collection/handedIn/support.ts';
import { openCollectingNode } from '../collection/support.ts';
import { filesWith, show, withhold } from '../copies/withheldCopies.ts';
import { addPeer, mirror } from '../peers/support.ts';
import { sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { savedPage } from '../support/savedPages.ts';
import { gzippedByRecord, response } from '../support/warcFiles.ts';
import { parseLines } from './dumpLines.ts';

/** The closed data folder of `fill`. */
let filled: string;
beforeAll(async () => {
  filled = await mkdtemp(join(tmpdir(), 'strongroom-test-'));
  await (await fill(filled)).close();
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});
afterAll(() => rm(filled, { recursive: true }));

/** The digests that each withholding in force covers. */
function coverage(dataFolder: string): { sha256: string; withholding: number }[] {
  const database = new Database(join(dataFolder, 'strongroom.db'), { readonly: true });
  try {
    return database.prepare('SELECT * FROM withheld_objects ORDER BY sha256, withholding').all() as never;
  } finally {
    database.close();
  }
}

async function send(node: TestNode, method: string, path: string, body: object): Promise<void> {
  const answer = await node.sendJson(method, path, body);
  expect(answer.ok, await answer.clone().text()).toBe(true);
}
const lists = async (node: TestNode) =>
  Promise.all(['/api/withheld', '/api/released'].map(async (path) => (await node.fetch(path)).json()));

/** An archive in which things were withheld, shown again, withheld for another reason, and released. */
async function archive(dataFolder: string): Promise<TestNode> {
  await cp(filled, dataFolder, { recursive: true });
  return openTestNode({ dataFolder });
}

async function fill(dataFolder: string): Promise<TestNode> {
  const web = await ScriptedWeb.open();
  web.script('/a', page('one'), page('two'), page('three'));
  const node = await openCollectingNode({}, { dataFolder });
  const { id } = await node.watch(web.url('/a'));
  for (let round = 0; round < 3; round += 1) await node.check();
  const { id: pack } = await uploadNewPack(node.node, sampleRecord(), { 'a.txt': 'alpha', 'b.txt': 'beta' });
  const [, second] = await node.retrievals(id);
  const withhold = (target: object, reason = 'personal_data') =>
    send(node.node, 'POST', '/manage/withheld', { ...target, reason });
  const show = (target: object) => send(node.node, 'DELETE', '/manage/withheld', target);
  await withhold({ pack });
  await withhold({ pack }, 'copyright');
  await withhold({ retrieval: second?.id });
  await show({ retrieval: second?.id });
  await withhold({ retrieval: second?.id }, 'login');
  await withhold({ sha256: sha256Of('one') });
  await send(node.node, 'POST', '/manage/released', { sha256: sha256Of('beta'), reason: 'legal_order' });
  return node.node;
}

test('a dump keeps what is withheld and what was released, with the same coverage', async () => {
  const data = join(await temporaryFolder(), 'data');
  const node = await archive(data);
  const dump = await (await node.fetch('/api/dump.jsonl')).text();
  const before = await lists(node);
  await node.close();
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'dump.jsonl'), dump);
  const restored = join(folder, 'restored');
  expect(await runHere(['import', join(folder, 'dump.jsonl'), '--data', restored])).toMatchObject({
    code: 0,
  });
  expect(coverage(restored)).toEqual(coverage(data));
  // What was given up stays covered.
  expect(coverage(data)).toHaveLength(4);
  const again = await openTestNode({ dataFolder: restored });
  expect(await lists(again)).toEqual(before);
  expect((await again.fetch(`/api/blobs/${sha256Of('alpha')}`)).status).toBe(451);
  expect((await again.fetchAsOwner(`/api/blobs/${sha256Of('beta')}`)).status).toBe(410);
  expect(parseLines(await (await again.fetch('/api/dump.jsonl')).text()).slice(1, -1)).toEqual(
    parseLines(dump).slice(1, -1),
  );
  expect(await (await again.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true });
});

test('a page that was drawn after its document was withheld with another page is covered, here and in a dump', async () => {
  const web = await ScriptedWeb.open();
  const html = { headers: { 'content-type': 'text/html; charset=utf-8' } };
  const script = `fetch('/word').then((r) => r.text()).then((word) => document.body.append(word))`;
  web.script('/', page(`<!doctype html><title>Page</title><body><script>${script}</script></body>`, html));
  web.script('/word', page('quibblesome'), page('frangipane'), page('zymurgical'));
  const data = join(await temporaryFolder(), 'data');
  const node = await openCollectingNode({}, { dataFolder: data });
  const { id: source } = await node.watch(web.url('/'), { capture: 'page' });
  const pages = async () => (await node.read<PageList>(`/archive/pages?source=${source}`)).items;
  await node.check();
  await node.check();
  const [second, first] = await pages();
  expect(second?.text).not.toBe(first?.text);
  await send(node.node, 'POST', '/manage/withheld', { page: first?.id, reason: 'personal_data' });
  await node.check();
  const all = await pages();
  expect(all).toHaveLength(3);
  const covered = coverage(data).map(({ sha256 }) => sha256);
  for (const { text, picture, document } of all)
    for (const sha256 of [text, picture, document]) expect(covered).toContain(sha256);
  const copy = join(await temporaryFolder(), 'copy');
  const dump = await (await node.node.fetch('/api/dump.jsonl')).text();
  await node.node.close();
  expect(await runHere(['copy', copy, '--pages', '--data', data])).toMatchObject({ code: 0 });
  for (const word of ['quibblesome', 'frangipane', 'zymurgical'])
    expect(await filesWith(copy, word)).toEqual([]);
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'dump.jsonl'), dump);
  const restored = join(folder, 'restored');
  expect(await runHere(['import', join(folder, 'dump.jsonl'), '--data', restored])).toMatchObject({
    code: 0,
  });
  expect(coverage(restored)).toEqual(coverage(data));
});

test('what a withholding covers does not change in a restored archive because others brought the same bytes later', async () => {
  const data = join(await temporaryFolder(), 'data');
  const node = await openCollectingNode({}, { dataFolder: data });
  const part = (name: string) => `p { color: ${name} }`;
  const saved = (page: string, ...styles: string[]) =>
    savedPage(`http://elsewhere.example/${page}`, [
      { type: 'text/html', location: `http://elsewhere.example/${page}`, content: `<p>${page}</p>` },
      ...styles.map((content, index) => ({
        type: 'text/css',
        location: `http://a.example/${index}`,
        content,
      })),
    ]);
  const bring = (...bodies: string[]) =>
    imported(
      node,
      gzippedByRecord(bodies.map((body, at) => response(body, { uri: `http://b.example/${at}` }))),
    );
  await bring(part('before'));
  const { id, retrieval } = await handIn(
    node.node,
    saved('a', part('before'), part('after')),
    'multipart/related',
  );
  await bring(part('after'));
  await show(node.node, { retrieval });
  await withhold(node.node, { retrieval });
  await handIn(node.node, saved('b', part('last')), 'multipart/related');
  await bring(part('last'));
  const statuses = async (from: TestNode) =>
    Promise.all(
      ['before', 'after', 'last'].map(
        async (name) => (await from.fetch(`/archive/${sha256Of(part(name))}`)).status,
      ),
    );
  // The first withholding of the letter covered one part more than the second one.
  expect([id, await statuses(node.node)]).toEqual([id, [200, 200, 451]]);
  const [zip, place] = [join(await temporaryFolder(), 'a.zip'), join(await temporaryFolder(), 'copy')];
  await writeFile(zip, await (await node.node.fetchAsOwner('/manage/archive.zip')).bytes());
  await node.node.close();
  expect(await runHere(['copy', place, '--data', data])).toMatchObject({ code: 0 });
  const made = [
    ['import', zip, '--data'],
    ['restore', place, '--data'],
  ] as const;
  for (const command of made) {
    const folder = join(await temporaryFolder(), 'restored');
    expect(await runHere([...command, folder])).toMatchObject({ code: 0 });
    expect(coverage(folder), command[0]).toEqual(coverage(data));
    expect(await statuses(await openTestNode({ dataFolder: folder })), command[0]).toEqual([200, 200, 451]);
  }
});

test('an exported archive keeps withheld bytes for the owner, and a released object is not missing', async () => {
  const data = join(await temporaryFolder(), 'data');
  const node = await archive(data);
  expect((await node.fetch('/manage/archive.zip')).status).toBe(401);
  const answer = await node.fetchAsOwner('/manage/archive.zip');
  const folder = await temporaryFolder();
  const file = join(folder, 'archive.zip');
  await writeFile(file, new Uint8Array(await answer.arrayBuffer()));
  await node.close();
  expect(await runHere(['verify', file])).toMatchObject({ code: 0, stderr: '' });
  const imported = join(folder, 'imported');
  expect(await runHere(['import', file, '--data', imported])).toMatchObject({ code: 0, stderr: '' });
  expect(coverage(imported)).toEqual(coverage(data));
  const again = await openTestNode({ dataFolder: imported });
  expect((await again.fetch(`/api/blobs/${sha256Of('alpha')}`)).status).toBe(451);
  expect(await (await again.fetchAsOwner(`/api/blobs/${sha256Of('alpha')}`)).text()).toBe('alpha');
  const audited = await again.fetchAsOwner('/manage/audits?wait=true', { method: 'POST' });
  expect(await audited.json()).toMatchObject({ damaged_objects: 0, released_objects: 1 });
});

test('a rebuilt database keeps it too, and calls nothing missing that was released', async () => {
  const data = join(await temporaryFolder(), 'data');
  const node = await archive(data);
  const before = await lists(node);
  const dump = join(data, 'dump.jsonl');
  await writeFile(dump, await (await node.fetch('/api/dump.jsonl')).text());
  await node.close();
  const covered = coverage(data);
  await writeFile(join(data, 'strongroom.db'), 'not a database');
  expect(await runHere(['rebuild', data])).toMatchObject({ code: 0 });
  expect(coverage(data)).toEqual(covered);
  const again = await openTestNode({ dataFolder: data });
  expect(await lists(again)).toEqual(before);
});

test('what never came from a peer is not missing in a dump, an export or a copy', async () => {
  const origin = await openTestNode();
  await uploadNewPack(origin, sampleRecord(), { 'a.txt': 'alpha', 'b.txt': 'beta' });
  await send(origin, 'POST', '/manage/withheld', { sha256: sha256Of('alpha'), reason: 'login' });
  const data = join(await temporaryFolder(), 'data');
  const node = await openTestNode({ dataFolder: data });
  await mirror(node, await addPeer(node, origin.url), { packs: true });
  const folder = await temporaryFolder();
  const lines = parseLines(await (await node.fetch('/api/dump.jsonl')).text());
  expect(lines.filter(({ kind }) => kind === 'object_absent')).toMatchObject([
    { sha256: sha256Of('alpha'), state: 'withheld', reason: 'login' },
  ]);
  const file = join(folder, 'archive.zip');
  await writeFile(file, new Uint8Array(await (await node.fetchAsOwner('/manage/archive.zip')).arrayBuffer()));
  await node.close();
  const copy = join(folder, 'copy');
  expect(await runHere(['copy', copy, '--pages', '--data', data])).toMatchObject({ code: 0, stderr: '' });
  expect(await runHere(['verify', copy])).toMatchObject({ code: 0, stderr: '' });
  expect(await readFile(join(copy, 'archive', sha256Of('beta')), 'utf8')).toBe('beta');
  const [imported, restored] = [join(folder, 'imported'), join(folder, 'restored')];
  expect(await runHere(['import', file, '--data', imported])).toMatchObject({ code: 0, stderr: '' });
  expect(await runHere(['restore', copy, '--data', restored])).toMatchObject({ code: 0, stderr: '' });
  for (const dataFolder of [imported, restored]) {
    const again = await openTestNode({ dataFolder });
    const audited = await again.fetchAsOwner('/manage/audits?wait=true', { method: 'POST' });
    expect(await audited.json()).toMatchObject({ damaged_objects: 0 });
    expect((await again.fetchAsOwner(`/api/blobs/${sha256Of('alpha')}`)).status).toBe(451);
    await again.close();
  }
});
