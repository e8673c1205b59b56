import { afterEach, expect, test } from 'vitest';
import type { LedgerEntry } from '../../shared/ledger/ledger.ts';
import type { Withholding } from '../../shared/node/withheld.ts';
import { openCollectingNode } from '../collection/support.ts';
import { sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { publishedSet } from '../support/archive/sets.ts';
import { LyingPeer } from '../support/network/lyingPeer.ts';
import { closePeerFronts } from '../support/network/peerFront.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { addPeer, expectVerified, mirror, readPeer } from './support.ts';

afterEach(async () => {
  closePeerFronts();
  await closeTestNodes();
  await closeScriptedWebs();
});

const SECRET = 'quibblesome';
const sha256 = sha256Of(SECRET);
const blob = `/api/blobs/${sha256}`;

async function withhold(node: TestNode, target: object, reason = 'copyright'): Promise<void> {
  expect((await node.sendJson('POST', '/manage/withheld', { ...target, reason })).status).toBe(201);
}
async function show(node: TestNode, target: object): Promise<void> {
  expect((await node.sendJson('DELETE', '/manage/withheld', target)).status).toBe(200);
}
async function release(node: TestNode, digest: string): Promise<void> {
  const answer = await node.sendJson('POST', '/manage/released', { sha256: digest, reason: 'legal_order' });
  expect(answer.status).toBe(201);
}
const withheldBy = async (node: TestNode) =>
  ((await (await node.fetch('/api/withheld')).json()) as { items: Withholding[] }).items;
const entriesOf = async (node: TestNode) =>
  ((await (await node.fetch('/api/ledger?limit=200')).json()) as { items: LedgerEntry[] }).items.map(
    ({ type }) => type,
  );
const damages = async (node: TestNode) =>
  ((await (await node.fetch('/api/damages')).json()) as { total: number }).total;
const audit = async (node: TestNode) =>
  (await node.fetchAsOwner('/manage/audits?wait=true', { method: 'POST' })).json();

/** Two nodes of which one is a peer with a pack, and the other mirrors it. */
async function nodes() {
  const origin = await openTestNode();
  const { id: pack } = await uploadNewPack(origin, sampleRecord(), { 'a.txt': SECRET, 'b.txt': 'open' });
  const node = await openTestNode();
  const peer = await addPeer(node, origin.url);
  return { origin, node, peer, pack };
}

test('a mirror that holds the bytes is told, withholds them, says so, and shows them when the peer does', async () => {
  const { origin, node, peer } = await nodes();
  await mirror(node, peer, { packs: true });
  expect(await (await node.fetch(blob)).text()).toBe(SECRET);
  await withhold(origin, { sha256 });
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ withheld: 1, refused: [] });
  expect((await node.fetch(blob)).status).toBe(451);
  expect(await (await node.fetchAsOwner(blob)).text()).toBe(SECRET);
  expect(await withheldBy(node)).toMatchObject([
    { sha256, reason: 'copyright', note: expect.stringContaining(peer.name) as string },
  ]);
  expect(await readPeer(node, peer)).toMatchObject({ follows_withheld: { withheld: 1, released: 0 } });
  expect(await entriesOf(node)).toContain('object.withheld');
  expect((await mirror(node, peer, { packs: true })).withheld).toBeUndefined();
  await show(origin, { sha256 });
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ shown: 1 });
  expect(await (await node.fetch(blob)).text()).toBe(SECRET);
  expect(await readPeer(node, peer)).toMatchObject({ follows_withheld: { withheld: 0 } });
  await expectVerified(node);
});

test('a pack, a retrieval and a page are withheld as the peer withholds them', async () => {
  const { origin, node, peer, pack } = await nodes();
  await mirror(node, peer, { packs: true });
  await withhold(origin, { pack }, 'legal_order');
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ withheld: 1 });
  expect(await withheldBy(node)).toMatchObject([{ pack, reason: 'legal_order', objects: 2 }]);
  const web = await ScriptedWeb.open();
  web.script('/a', page('one'), page('two'));
  const watching = await openCollectingNode();
  const { id } = await watching.watch(web.url('/a'));
  await watching.check();
  await watching.check();
  const other = await addPeer(node, watching.node.url);
  await mirror(node, other, { sources: true });
  const [, first] = await watching.retrievals(id);
  await withhold(watching.node, { retrieval: first?.id }, 'personal_data');
  expect(await mirror(node, other, { sources: true })).toMatchObject({ withheld: 1, refused: [] });
  const [newest] = await withheldBy(node);
  expect(newest).toMatchObject({ reason: 'personal_data', retrieval: null });
  expect((await node.fetch(`/archive/${newest?.sha256}`)).status).toBe(451);
});

test('what the owner of the mirror withholds or shows himself stays as he chose', async () => {
  const { origin, node, peer } = await nodes();
  await mirror(node, peer, { packs: true });
  await withhold(node, { sha256 }, 'owner');
  await withhold(origin, { sha256 });
  expect((await mirror(node, peer, { packs: true })).withheld).toBeUndefined();
  await show(origin, { sha256 });
  await mirror(node, peer, { packs: true });
  expect(await withheldBy(node)).toMatchObject([{ reason: 'owner', note: null }]);
  await show(node, { sha256 });
  await withhold(origin, { sha256 });
  await mirror(node, peer, { packs: true });
  await show(node, { sha256 });
  await uploadNewPack(origin, sampleRecord({ title: 'Later' }), { 'c.txt': 'later' });
  const later = await mirror(node, peer, { packs: true });
  expect([later.packs, later.withheld]).toEqual([1, undefined]);
  expect((await node.fetch(blob)).status).toBe(200);
});

test('of two nodes that mirror each other, none withholds because the other one follows it', async () => {
  const { origin, node, peer, pack } = await nodes();
  await mirror(node, peer, { packs: true });
  const back = await addPeer(origin, node.url);
  await node.sendJson('PATCH', `/manage/peers/${peer.id}`, { name: 'Our label of the origin' });
  await withhold(origin, { sha256 });
  await withhold(origin, { pack });
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ withheld: 2 });
  await show(origin, { sha256 });
  await show(origin, { pack });
  expect((await mirror(origin, back, { packs: true })).withheld).toBeUndefined();
  expect(await (await origin.fetch(blob)).text()).toBe(SECRET);
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ shown: 2 });
  expect(await (await node.fetch(blob)).text()).toBe(SECRET);
  // What the other one withholds itself is proposed: the first has it from nobody else.
  await withhold(node, { sha256 });
  expect(await mirror(origin, back, { packs: true })).toMatchObject({ proposed: 1 });
  expect((await origin.fetch(blob)).status).toBe(200);
});

test('bytes that the peer gave up are withheld in the mirror, whose owner decides', async () => {
  const { origin, node, peer } = await nodes();
  await mirror(node, peer, { packs: true });
  await release(origin, sha256);
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ released: 1, refused: [] });
  expect((await node.fetch(blob)).status).toBe(451);
  expect(await (await node.fetchAsOwner(blob)).text()).toBe(SECRET);
  expect(await readPeer(node, peer)).toMatchObject({ follows_withheld: { withheld: 0, released: 1 } });
  await release(node, sha256);
  expect((await node.fetchAsOwner(blob)).status).toBe(410);
});

test('a record whose bytes the peer withholds is taken without them, and they come when it shows them', async () => {
  const { origin, node, peer, pack } = await nodes();
  await withhold(origin, { sha256 });
  expect(await mirror(node, peer, { packs: true })).toMatchObject({
    packs: 1,
    objects: 1,
    not_given: 1,
    refused: [],
  });
  expect((await node.fetch(`/api/packs/${pack}`)).status).toBe(200);
  expect((await node.fetch(`/api/packs/${pack}/provenance`)).status).toBe(200);
  const asVisitor = await node.fetch(blob);
  expect([asVisitor.status, await asVisitor.json()]).toEqual([
    451,
    expect.objectContaining({ code: 'withheld', reason: 'copyright' }),
  ]);
  const asOwner = await node.fetchAsOwner(blob);
  expect([asOwner.status, await asOwner.json()]).toEqual([
    451,
    expect.objectContaining({ detail: expect.stringContaining(peer.name) as string }),
  ]);
  expect(await audit(node)).toMatchObject({ damaged_objects: 0 });
  expect(await damages(node)).toBe(0);
  // It is not asked for again.
  const again = await mirror(node, peer, { packs: true });
  expect([again.not_given, again.objects, again.refused]).toEqual([undefined, 0, []]);
  await uploadNewPack(origin, sampleRecord({ title: 'Later' }), { 'a.txt': SECRET });
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ packs: 1, objects: 0, refused: [] });
  await show(origin, { sha256 });
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ objects: 1, refused: [] });
  expect(await (await node.fetch(blob)).text()).toBe(SECRET);
  expect(await withheldBy(node)).toEqual([]);
  expect(await audit(node)).toMatchObject({ damaged_objects: 0 });
  await expectVerified(node);
});

test('the bytes come also if the peer has another name here meanwhile', async () => {
  const { origin, node, peer } = await nodes();
  await withhold(origin, { sha256 });
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ not_given: 1 });
  const renamed = await node.sendJson('PATCH', `/manage/peers/${peer.id}`, { name: 'Archive of a friend' });
  expect(renamed.status).toBe(200);
  await show(origin, { sha256 });
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ objects: 1 });
  expect(await (await node.fetch(blob)).text()).toBe(SECRET);
  await expectVerified(node);
});

test('a pack that a wider selection brings is withheld, although the ledger of the peer has not grown', async () => {
  const { origin, node, peer, pack } = await nodes();
  await withhold(origin, { pack }, 'legal_order');
  await mirror(node, peer, { sources: true });
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ packs: 1, withheld: 1, refused: [] });
  expect(await withheldBy(node)).toContainEqual(expect.objectContaining({ pack, reason: 'legal_order' }));
  expect((await mirror(node, peer, { packs: true })).withheld).toBeUndefined();

  // Also if the run that brings it breaks off before the peer is asked what it withholds.
  const other = await openTestNode();
  const front = await LyingPeer.open(origin.url);
  const behind = await addPeer(other, front.url);
  await mirror(other, behind, { sources: true });
  front.lie(/^\/api\/withheld/, (_body, response) => void response.writeHead(500).end());
  const broken = await other.sendJson('POST', `/manage/peers/${behind.id}/mirror?wait=true`, { packs: true });
  expect(broken.status).toBe(502);
  front.tellTheTruth();
  expect(await mirror(other, behind, { packs: true })).toMatchObject({ packs: 0, withheld: 1 });
});

test('a set that the peer withholds is taken without its bytes, and is read when the peer shows it', async () => {
  const origin = await openTestNode({ packBytes: 10_000 });
  const { manifest } = await publishedSet(origin);
  await withhold(origin, { pack: manifest.id });
  const node = await openTestNode();
  const peer = await addPeer(node, origin.url);
  expect(await mirror(node, peer, { packs: true })).toMatchObject({
    packs: 1,
    sets_without_parts: 1,
    refused: [],
  });
  const list = `/api/packs/${manifest.id}/set`;
  for (const path of [list, `${list}/download`, `${list}/files/b.csv`]) {
    expect((await node.fetch(path)).status).toBe(451);
    expect((await node.fetchAsOwner(path)).status).toBe(451);
  }
  await node.fetch(`/api/packs/${manifest.id}/verify`);
  expect(await damages(node)).toBe(0);
  await show(origin, { pack: manifest.id });
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ packs: 4, refused: [] });
  expect((await node.fetch(`${list}/files/b.csv`)).status).toBe(200);
  expect(await (await node.fetch(`/api/packs/${manifest.id}/verify`)).json()).toMatchObject({ ok: true });
  expect(await damages(node)).toBe(0);
});

test('a record whose bytes the peer gave up is taken without them, and nothing is called damaged', async () => {
  const { origin, node, peer } = await nodes();
  await release(origin, sha256);
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ packs: 1, not_given: 1, refused: [] });
  expect((await node.fetchAsOwner(blob)).status).toBe(410);
  expect((await node.fetch(blob)).status).toBe(451);
  expect(await audit(node)).toMatchObject({ damaged_objects: 0 });
  expect(await damages(node)).toBe(0);
  // The same bytes from somebody else are taken, and the word of the peer ends.
  await uploadNewPack(node, sampleRecord({ title: 'Mine' }), { 'a.txt': SECRET });
  expect(await (await node.fetch(blob)).text()).toBe(SECRET);
  expect(await withheldBy(node)).toEqual([]);
});

test('captures whose bytes the peer withholds are taken without them', async () => {
  const web = await ScriptedWeb.open();
  web.script('/a', page('one'), page('two'));
  const origin = await openCollectingNode();
  await origin.watch(web.url('/a'));
  await origin.check();
  await origin.check();
  await withhold(origin.node, { sha256: sha256Of('one') });
  const node = await openTestNode();
  const peer = await addPeer(node, origin.node.url);
  expect(await mirror(node, peer, { sources: true })).toMatchObject({
    events: 2,
    objects: 1,
    not_given: 1,
    refused: [],
  });
  expect((await node.fetch(`/archive/${sha256Of('one')}`)).status).toBe(451);
  expect(await audit(node)).toMatchObject({ damaged_objects: 0 });
  await show(origin.node, { sha256: sha256Of('one') });
  expect(await mirror(node, peer, { sources: true })).toMatchObject({ objects: 1, refused: [] });
  expect(await (await node.fetch(`/archive/${sha256Of('one')}`)).text()).toBe('one');
  await expectVerified(node);
});
