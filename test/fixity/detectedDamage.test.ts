import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Event } from '../../shared/collection/event.ts';
import { openCollectingNode } from '../collection/support.ts';
import { sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { publishedSet } from '../support/archive/sets.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { audit, damages, fileOf, listObjectEntries, objectEntries, overwrite } from './support.ts';

/** Holds the packs of the tests of single files, each with bytes of its own. */
let shared: TestNode;
beforeAll(async () => {
  shared = await openTestNode();
});
afterAll(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const LARGE = 'first'.repeat(100_000);

type Damaging = (folder: string, sha256: string) => Promise<void>;
const missing: Damaging = (folder, sha256) => rm(fileOf(folder, sha256));
const cut: Damaging = (folder, sha256) => overwrite(folder, sha256, 'fir');
const unreadable: Damaging = async (folder, sha256) => {
  await rm(fileOf(folder, sha256));
  await mkdir(fileOf(folder, sha256));
};
/** Changes bytes and keeps the size, so that only hashing detects it. */
const changed: Damaging = (folder, sha256) => overwrite(folder, sha256, 'fixed');

let packs = 0;

/** Adds a pack with a file that no other has: the text, in which its first two letters are replaced. */
async function packWith(text: string): Promise<{ node: TestNode; id: string; sha256: string }> {
  packs += 1;
  const content = String(packs).padStart(2, '0') + text.slice(2);
  const { id } = await uploadNewPack(shared, { title: `Pack ${packs}` }, { 'a.txt': content });
  return { node: shared, id, sha256: sha256Of(content) };
}

/** The objects that earlier tests have damaged. */
const earlier = new Set<string>();

async function requireRecordedOnce(node: TestNode, sha256: string, problem: string): Promise<void> {
  const found = (await damages(node)).filter((damage) => !earlier.has(damage.sha256));
  expect(found).toMatchObject([{ sha256, problem, restored_at: null }]);
  const entries = (await listObjectEntries(node)).filter(({ subject }) => !earlier.has(subject));
  expect(entries.map(({ type, subject }) => [type, subject])).toEqual([['object.damaged', sha256]]);
  earlier.add(sha256);
}

test.each([
  ['a missing small file', 'first', missing, 'missing'],
  ['a missing large file', LARGE, missing, 'missing'],
  ['a small file of another size', 'first', cut, 'changed'],
  ['a large file of another size', LARGE, cut, 'changed'],
  ['a file that cannot be read', 'first', unreadable, 'unreadable'],
])(
  '%s that a visitor asks for is recorded once, and reported as damaged',
  async (_what, content, damage, problem) => {
    const { node, sha256 } = await packWith(content);
    await damage(node.dataFolder, sha256);
    for (let time = 0; time < 3; time += 1) {
      const answers = await Promise.all([1, 2, 3].map(() => node.fetch(`/api/blobs/${sha256}`)));
      expect(answers.map(({ status }) => status)).toEqual([500, 500, 500]);
      expect(await answers[0]?.json()).toMatchObject({ code: 'blob_damaged' });
    }
    await requireRecordedOnce(node, sha256, problem);
  },
);

test.each([
  ['changed', changed, 'changed'],
  ['missing', missing, 'missing'],
  ['unreadable', unreadable, 'unreadable'],
] as const)(
  'verifying a pack records a file that is %s, which is withheld from then on',
  async (_what, damage, problem) => {
    const { node, id, sha256 } = await packWith('first');
    await damage(node.dataFolder, sha256);
    for (let time = 0; time < 2; time += 1) {
      const verification = (await (await node.fetch(`/api/packs/${id}/verify`)).json()) as object;
      expect(verification).toMatchObject({ ok: false });
    }
    expect((await node.fetch(`/api/blobs/${sha256}`)).status).toBe(500);
    await requireRecordedOnce(node, sha256, problem);
  },
);

test.each([
  ['changed', changed, 'changed'],
  ['missing', missing, 'missing'],
] as const)('downloading a pack file records a file that is %s', async (_what, damage, problem) => {
  const { node, id, sha256 } = await packWith('first');
  await damage(node.dataFolder, sha256);
  expect((await node.fetch(`/api/packs/${id}/file`)).status).toBe(500);
  await requireRecordedOnce(node, sha256, problem);
});

test('the ledger verifies with what was recorded of all these packs', async () => {
  expect(await objectEntries(shared)).toHaveLength(earlier.size);
});

async function watched(...bodies: string[]) {
  const web = await ScriptedWeb.open();
  web.script('/page', ...bodies.map((body) => page(body)));
  const collecting = await openCollectingNode();
  await collecting.watch(web.url('/page'));
  for (const _body of bodies) await collecting.check();
  return { node: collecting.node, web, collecting };
}

const A = sha256Of('first');

/** Deletes an object's derived text and requests it again. */
async function textAnew(node: TestNode): Promise<Response> {
  const database = new Database(join(node.dataFolder, 'strongroom.db'));
  database.exec('DELETE FROM derived_documents');
  database.close();
  return node.fetch(`/archive/${A}/text`);
}

test.each([
  ['its metadata', changed, async (node: TestNode) => node.fetch(`/archive/${A}/metadata`), 'changed'],
  ['its own URL', cut, async (node: TestNode) => node.fetch(`/archive/${A}`), 'changed'],
  [
    'a WARC export',
    changed,
    async (node: TestNode) => (await node.fetch('/api/warc')).arrayBuffer(),
    'changed',
  ],
  ['its text', changed, async (node: TestNode) => textAnew(node), 'changed'],
] as const)(
  'a damaged object is recorded when a request reads %s',
  async (_what, damage, request, problem) => {
    const { node } = await watched('first');
    await damage(node.dataFolder, A);
    await request(node);
    const [damaged] = (await objectEntries(node)).filter(({ type }) => type === 'object.damaged');
    expect(damaged?.subject).toBe(A);
    expect(await damages(node)).toMatchObject([{ sha256: A, problem }]);
    expect((await node.fetch(`/archive/${A}`)).status).toBe(500);
  },
);

test('a damaged object is recorded when a request reads its memento or a diff', async () => {
  const { node, web, collecting } = await watched('first', 'second');
  const gate = await node.fetch(`/timegate/${web.url('/page')}`, { redirect: 'manual' });
  const newest = sha256Of('second');
  await cut(node.dataFolder, newest);
  expect((await node.fetch(new URL(gate.headers.get('Location') ?? '').pathname)).status).toBe(500);
  await requireRecordedOnce(node, newest, 'changed');
  await objectEntries(node);
  await overwrite(node.dataFolder, A, 'fixed');
  const event = (await collecting.events()).find(({ event_type }) => event_type === 'changed') as Event;
  expect((await node.fetch(`/api/events/${event.id}/diff`)).status).toBe(500);
  expect((await damages(node)).map(({ sha256 }) => sha256).sort()).toEqual([A, newest].sort());
});

test('the damaged files of a pack, and of the parts of a set, are listed until they are repaired', async () => {
  const node = await openTestNode({ packBytes: 10_000 });
  const same = { 'data/a.txt': 'first', 'copy of a.txt': 'first', 'b.txt': 'second' };
  const { id } = await uploadNewPack(node, sampleRecord(), same);
  const { manifest, files } = await publishedSet(node);
  const listed = async (pack: string, query = '') => {
    const answer = await node.fetch(`/api/packs/${pack}/damages${query}`);
    return { status: answer.status, body: (await answer.json()) as { items: object[]; total: number } };
  };
  expect((await listed(id)).body).toMatchObject({ items: [], total: 0 });
  await rm(fileOf(node.dataFolder, sha256Of('first')));
  const inPart = sha256Of(files['b.csv'] ?? '');
  await overwrite(node.dataFolder, inPart, 'other');
  await audit(node);
  const missingFile = { pack: id, sha256: sha256Of('first'), bytes: 5, problem: 'missing', found: null };
  expect((await listed(id)).body).toMatchObject({
    items: [
      { ...missingFile, path: 'copy of a.txt' },
      { ...missingFile, path: 'data/a.txt' },
    ],
    total: 2,
  });
  expect((await listed(id, '?limit=1&offset=1')).body).toMatchObject({
    items: [{ path: 'data/a.txt' }],
    total: 2,
  });
  expect((await listed(manifest.id)).body).toMatchObject({
    items: [{ path: 'b.csv', sha256: inPart, problem: 'changed', found: sha256Of('other') }],
    total: 1,
  });
  expect(await listed(`pk_${'0'.repeat(20)}`)).toMatchObject({ status: 404 });

  await overwrite(node.dataFolder, sha256Of('first'), 'first');
  await audit(node);
  expect((await listed(id)).body).toMatchObject({ items: [], total: 0 });
});
