import { afterEach, expect, test } from 'vitest';
import { type Pack, recordOf } from '../../shared/archive/pack.ts';
import type { MirrorResult, Peer, PeerProposal } from '../../shared/node/peer.ts';
import type { Withholding } from '../../shared/node/withheld.ts';
import { openCollectingNode } from '../collection/support.ts';
import { newDraft, publish, putFile } from '../support/archive/drafts.ts';
import { sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { ManualClock } from '../support/manualClock.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { share } from '../support/network/sharing.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { addPeer, expectVerified, mirror, readPeer, sizeOf } from './support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const OURS = 'what we published';
const ours = sha256Of(OURS);
const blob = (bytes: string) => `/api/blobs/${sha256Of(bytes)}`;

async function withhold(node: TestNode, target: object, reason = 'copyright'): Promise<void> {
  expect((await node.sendJson('POST', '/manage/withheld', { ...target, reason })).status).toBe(201);
}
async function show(node: TestNode, target: object): Promise<void> {
  expect((await node.sendJson('DELETE', '/manage/withheld', target)).status).toBe(200);
}
async function release(node: TestNode, sha256: string): Promise<void> {
  const answer = await node.sendJson('POST', '/manage/released', { sha256, reason: 'legal_order' });
  expect(answer.status).toBe(201);
}
async function proposals(node: TestNode, { id }: Peer): Promise<PeerProposal[]> {
  const answer = await node.fetchAsOwner(`/manage/peers/${id}/proposals`);
  return ((await answer.json()) as { items: PeerProposal[] }).items;
}
async function decide(node: TestNode, { id }: Peer, number: number | undefined, decision: string) {
  const answer = await node.sendJson('POST', `/manage/peers/${id}/proposals/${number}`, { decision });
  return { status: answer.status, proposal: (await answer.json()) as PeerProposal };
}
const withheldAt = async (node: TestNode) =>
  ((await (await node.fetch('/api/withheld')).json()) as { items: Withholding[] }).items;
const statusOf = async (node: TestNode, bytes: string) => (await node.fetch(blob(bytes))).status;

/** A node with a pack of its own, and a peer that published the same bytes. */
async function hostile(config: Parameters<typeof openTestNode>[0] = {}) {
  const node = await openTestNode(config);
  const { id: pack } = await uploadNewPack(node, sampleRecord({ title: 'Ours' }), { 'a.txt': OURS });
  const other = await openTestNode();
  // The same record has the same id there.
  await uploadNewPack(other, sampleRecord({ title: 'Ours' }), { 'a.txt': OURS });
  const { id: theirs } = await uploadNewPack(other, sampleRecord({ title: 'Theirs' }), { 'b.txt': OURS });
  const peer = await addPeer(node, other.url);
  return { node, other, peer, pack, theirs };
}

test('what a peer withholds or gives up and this node has otherwise is only proposed', async () => {
  const { node, other, peer, pack, theirs } = await hostile();
  await mirror(node, peer, { packs: { q: 'nothing like it' } });
  const size = await sizeOf(node);
  await withhold(other, { sha256: ours });
  await withhold(other, { pack }, 'legal_order');
  expect(await mirror(node, peer, { packs: { q: 'nothing like it' } })).toMatchObject({ proposed: 2 });
  expect(await sizeOf(node)).toBe(size);
  expect(await withheldAt(node)).toEqual([]);
  expect(await statusOf(node, OURS)).toBe(200);
  expect(await proposals(node, peer)).toMatchObject([
    { kind: 'withheld', sha256: ours, pack: null, reason: 'copyright', name: 'a.txt', is_withheld: false },
    { kind: 'withheld', sha256: null, pack, reason: 'legal_order', name: 'Ours', decision: null },
  ]);
  expect(await readPeer(node, peer)).toMatchObject({ proposals: 2, follows_withheld: { withheld: 0 } });
  // Also if it is mirrored: a pack of the peer names our bytes.
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ packs: 1 });
  await withhold(other, { pack: theirs });
  await release(other, ours);
  const { proposed, withheld, released } = await mirror(node, peer, { packs: true });
  expect([proposed, withheld, released]).toEqual([2, undefined, undefined]);
  expect(await statusOf(node, OURS)).toBe(200);
  expect(await withheldAt(node)).toEqual([]);
  // The peer is removed with all its proposals.
  expect((await node.fetchAsOwner(`/manage/peers/${peer.id}`, { method: 'DELETE' })).status).toBe(204);
  expect(await statusOf(node, OURS)).toBe(200);
  expect((await node.fetch(`/api/packs/${pack}`)).status).toBe(200);
  await expectVerified(node);
});

test('a proposal is taken or left once, and what was taken stays until the owner shows it', async () => {
  const { node, other, peer, pack } = await hostile();
  await withhold(other, { sha256: ours });
  await withhold(other, { pack });
  await mirror(node, peer, { packs: { q: 'nothing like it' } });
  const [object, ofPack] = await proposals(node, peer);
  expect(await decide(node, peer, object?.number, 'leave')).toMatchObject({
    status: 200,
    proposal: { decision: 'leave' },
  });
  expect(await statusOf(node, OURS)).toBe(200);
  expect(await decide(node, peer, ofPack?.number, 'take')).toMatchObject({ status: 200 });
  expect(await statusOf(node, OURS)).toBe(451);
  expect(await withheldAt(node)).toMatchObject([{ pack, reason: 'copyright' }]);
  expect((await decide(node, peer, ofPack?.number, 'leave')).status).toBe(404);
  expect((await decide(node, peer, 999, 'take')).status).toBe(404);
  expect(await proposals(node, peer)).toEqual([]);
  // The peer shows it again: that is proposed, too.
  await show(other, { pack });
  expect((await mirror(node, peer, { packs: { q: 'nothing like it' } })).shown).toBeUndefined();
  expect(await statusOf(node, OURS)).toBe(451);
  const [shown] = await proposals(node, peer);
  expect(shown).toMatchObject({ kind: 'shown', pack, is_withheld: true });
  await decide(node, peer, shown?.number, 'take');
  expect(await statusOf(node, OURS)).toBe(200);
  await expectVerified(node);
});

test('what the node collected itself, or somebody handed in, is not withheld because a peer says so', async () => {
  const web = await ScriptedWeb.open();
  web.script('/a', page('seen by both'));
  const own = await openCollectingNode();
  await own.watch(web.url('/a'));
  await own.check();
  const other = await openCollectingNode();
  web.script('/a', page('seen by both'));
  await other.watch(web.url('/a'));
  await other.check();
  const sha256 = sha256Of('seen by both');
  const peer = await addPeer(own.node, other.node.url);
  await mirror(own.node, peer, { sources: true });
  await withhold(other.node, { sha256 });
  expect(await mirror(own.node, peer, { sources: true })).toMatchObject({ proposed: 1 });
  expect((await own.node.fetch(`/archive/${sha256}`)).status).toBe(200);
});

test('a page capture and a retrieval that are ours are only proposed if a peer withholds them', async () => {
  const web = await ScriptedWeb.open();
  const html = { headers: { 'content-type': 'text/html; charset=utf-8' } };
  web.script('/', page('<title>One</title><p>Drawn here', html));
  web.script('/a', page('fetched here'));
  const own = await openCollectingNode();
  await own.watch(web.url('/'), { capture: 'page' });
  await own.watch(web.url('/a'));
  await own.check();
  // The peer mirrors this node, and then says what of it is to be withheld.
  const other = await openTestNode();
  await mirror(other, await addPeer(other, own.node.url), { sources: true });
  const listed = async <Item>(path: string) =>
    ((await (await other.fetchAsOwner(path)).json()) as { items: Item[] }).items;
  const [drawn] = await listed<{ id: string; text: string; picture: string }>('/archive/pages');
  const captures = await listed<{ retrieval: { id: number; sha256: string | null } }>('/api/retrievals');
  const fetched = sha256Of('fetched here');
  const peer = await addPeer(own.node, other.url);
  await mirror(own.node, peer, { sources: true });
  await withhold(other, { page: drawn?.id }, 'legal_order');
  await withhold(other, {
    retrieval: captures.find((each) => each.retrieval.sha256 === fetched)?.retrieval.id,
  });
  expect(await mirror(own.node, peer, { sources: true })).toMatchObject({ proposed: 2, refused: [] });
  expect(await withheldAt(own.node)).toEqual([]);
  for (const sha256 of [drawn?.text, drawn?.picture, fetched])
    expect((await own.node.fetch(`/archive/${sha256}`)).status).toBe(200);
  expect(await proposals(own.node, peer)).toMatchObject([
    { kind: 'withheld', page: drawn?.id, sha256: null, reason: 'legal_order' },
    { kind: 'withheld', page: null, sha256: fetched, reason: 'copyright' },
  ]);
});

test('the word of a peer ends for bytes that come from somewhere else, and holds for the rest of its pack', async () => {
  const other = await openTestNode();
  const { id: pack } = await uploadNewPack(other, sampleRecord(), { 'a.txt': OURS, 'b.txt': 'theirs alone' });
  const node = await openTestNode();
  const peer = await addPeer(node, other.url);
  await mirror(node, peer, { packs: true });
  await withhold(other, { pack });
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ withheld: 1 });
  expect([await statusOf(node, OURS), await statusOf(node, 'theirs alone')]).toEqual([451, 451]);
  // Naming a digest is not having the bytes.
  const named = { ...sampleRecord({ title: 'Named' }), files: [fileOf('b.txt', 'theirs alone')] };
  expect((await node.sendJson('POST', '/api/packs', named)).status).toBe(201);
  expect(await statusOf(node, 'theirs alone')).toBe(451);
  await uploadNewPack(node, sampleRecord({ title: 'Ours' }), { 'c.txt': OURS });
  expect([await statusOf(node, OURS), await statusOf(node, 'theirs alone')]).toEqual([200, 451]);
  expect(await proposals(node, peer)).toMatchObject([{ kind: 'withheld', pack }]);
  await expectVerified(node);
  // When the peer shows it, the rest is shown.
  await show(other, { pack });
  await mirror(node, peer, { packs: true });
  expect([await statusOf(node, OURS), await statusOf(node, 'theirs alone')]).toEqual([200, 200]);
  expect([await proposals(node, peer), await withheldAt(node)]).toEqual([[], []]);
});

test('who names a digest without sending the bytes does not keep a peer from withholding them', async () => {
  const other = await openTestNode();
  const files = { 'a.txt': OURS, 'b.txt': 'theirs' };
  const { id } = await uploadNewPack(other, sampleRecord(), files);
  const node = await openTestNode();
  const peer = await addPeer(node, other.url);
  await mirror(node, peer, { packs: true });
  await share(node, 'contribute');
  const named = { ...sampleRecord({ title: 'Named' }), files: [fileOf('x.txt', OURS)] };
  const again = recordOf((await (await node.fetch(`/api/packs/${id}`)).json()) as Pack);
  for (const [record, status] of [
    [named, 201],
    [again, 200],
  ] as const) {
    const headers = { 'Content-Type': 'application/json' };
    const sent = await node.fetch('/api/packs', { method: 'POST', headers, body: JSON.stringify(record) });
    expect(sent.status).toBe(status);
  }
  // The owner, too.
  const byOwner = { ...named, title: 'Named by the owner', files: [fileOf('x.txt', 'theirs')] };
  expect((await node.sendJson('POST', '/api/packs', byOwner)).status).toBe(201);
  for (const each of [OURS, 'theirs']) await withhold(other, { sha256: sha256Of(each) });
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ withheld: 2 });
  for (const each of [OURS, 'theirs']) expect(await statusOf(node, each)).toBe(451);
  // Of the files of a draft, only those count whose bytes are sent with it.
  const draft = await newDraft(node, sampleRecord({ title: 'Drafted' }));
  await putFile(node, draft.id, 'a.txt', OURS);
  await putFile(node, draft.id, 'd.txt', 'new');
  expect((await publish(node, draft.id)).status).toBe(201);
  expect([await statusOf(node, OURS), await statusOf(node, 'theirs')]).toEqual([200, 451]);
  await expectVerified(node);
});

test('the same pack sent again by somebody else is no longer from the peer alone', async () => {
  const other = await openTestNode();
  const sent = [sampleRecord(), { 'a.txt': OURS }] as const;
  const { id: pack } = await uploadNewPack(other, ...sent);
  const node = await openTestNode();
  const peer = await addPeer(node, other.url);
  await mirror(node, peer, { packs: true });
  await withhold(other, { pack });
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ withheld: 1 });
  await uploadNewPack(node, ...sent).catch(() => undefined);
  expect(await statusOf(node, OURS)).toBe(200);
  await show(other, { pack });
  await mirror(node, peer, { packs: true });
  await withhold(other, { sha256: ours });
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ proposed: 1 });
  expect(await statusOf(node, OURS)).toBe(200);
});

test('what one peer does not give comes from another one, and is shown', async () => {
  const sent = [sampleRecord(), { 'a.txt': OURS }] as const;
  const [refusing, honest, late] = [await openTestNode(), await openTestNode(), await openTestNode()];
  for (const each of [refusing, honest]) await uploadNewPack(each, ...sent);
  await withhold(refusing, { sha256: ours });
  const node = await openTestNode();
  expect(await mirror(node, await addPeer(node, refusing.url), { packs: true })).toMatchObject({
    packs: 1,
    not_given: 1,
  });
  expect(await statusOf(node, OURS)).toBe(451);
  // Another pack that names the same bytes, at a peer that withholds them, too.
  await uploadNewPack(late, sampleRecord({ title: 'Late' }), { 'c.txt': OURS });
  await withhold(late, { sha256: ours });
  const third = await addPeer(node, late.url);
  expect(await mirror(node, third, { packs: true })).toMatchObject({ packs: 1, not_given: 1, refused: [] });
  expect(await mirror(node, await addPeer(node, honest.url), { packs: true })).toMatchObject({
    already_held: 1,
    objects: 1,
    refused: [],
  });
  expect(await (await node.fetch(blob(OURS))).text()).toBe(OURS);
  expect(await withheldAt(node)).toEqual([]);
  await expectVerified(node);
});

test('captures whose bytes one peer does not give come from another one', async () => {
  const web = await ScriptedWeb.open();
  const peers: TestNode[] = [];
  for (let count = 0; count < 2; count += 1) {
    web.script('/a', page('seen'));
    const each = await openCollectingNode();
    await each.watch(web.url('/a'));
    await each.check();
    peers.push(each.node);
  }
  const [refusing, honest] = peers as [TestNode, TestNode];
  await withhold(refusing, { sha256: sha256Of('seen') });
  const node = await openTestNode();
  expect(await mirror(node, await addPeer(node, refusing.url), { sources: true })).toMatchObject({
    not_given: 1,
  });
  expect(await mirror(node, await addPeer(node, honest.url), { sources: true })).toMatchObject({
    objects: 1,
    refused: [],
  });
  expect(await (await node.fetch(`/archive/${sha256Of('seen')}`)).text()).toBe('seen');
  await expectVerified(node);
});

test('a pack that a second peer has too is not hidden by the first, and its bytes are shown if the second gives them', async () => {
  const sent = [sampleRecord(), { 'a.txt': OURS }] as const;
  const [first, second] = [await openTestNode(), await openTestNode()];
  for (const each of [first, second]) await uploadNewPack(each, ...sent);
  const node = await openTestNode();
  const [hiding, honest] = [await addPeer(node, first.url), await addPeer(node, second.url)];
  await mirror(node, hiding, { packs: true });
  await withhold(first, { sha256: ours });
  expect(await mirror(node, hiding, { packs: true })).toMatchObject({ withheld: 1 });
  expect(await mirror(node, honest, { packs: true })).toMatchObject({ already_held: 1, objects: 0 });
  expect(await statusOf(node, OURS)).toBe(200);
  await show(first, { sha256: ours });
  await mirror(node, hiding, { packs: true });
  await withhold(first, { sha256: ours }, 'owner');
  await mirror(node, hiding, { packs: true });
  expect(await statusOf(node, OURS)).toBe(200);
});

test('a study of this node keeps its status, whatever a peer that has it too says of it', async () => {
  const node = await openTestNode();
  const study = (await (await node.sendJson('POST', '/api/studies', { title: 'Ours' })).json()) as {
    id: string;
  };
  await uploadNewPack(node, sampleRecord({ study: study.id }));
  const other = await openTestNode();
  await mirror(other, await addPeer(other, node.url), { packs: true });
  await other.sendJson('POST', `/api/studies/${study.id}/status`, { status: 'abandoned', note: 'lies' });
  await uploadNewPack(other, sampleRecord({ title: 'Theirs', study: study.id }));
  expect(await mirror(node, await addPeer(node, other.url), { packs: true })).toMatchObject({ packs: 1 });
  const read = (await (await node.fetch(`/api/studies/${study.id}`)).json()) as { status_history: object[] };
  expect(read.status_history).toHaveLength(1);
});

test('each limit of a run is said, and the next run goes on', async () => {
  const clock = new ManualClock();
  const limits = { withholdings: 1, proposals: 1, requests: 1_000, bytes: 1_000_000, hours: 1 };
  const { node, other, peer, pack } = await hostile({ mirrorLimits: limits, clock });
  await uploadNewPack(other, sampleRecord({ title: 'More' }), { 'm.txt': 'm', 'n.txt': 'n' });
  await mirror(node, peer, { packs: true });
  for (const each of ['m', 'n']) await withhold(other, { sha256: sha256Of(each) });
  const first: MirrorResult = await mirror(node, peer, { packs: true });
  expect(first).toMatchObject({ withheld: 1, limits: [expect.stringContaining('more than 1 things')] });
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ withheld: 1 });
  await withhold(other, { sha256: ours });
  await withhold(other, { pack });
  const proposed = await mirror(node, peer, { packs: true });
  expect(proposed).toMatchObject({ proposed: 1, limits: [expect.stringContaining('proposals')] });
  await decide(node, peer, (await proposals(node, peer))[0]?.number, 'leave');
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ proposed: 1 });

  for (const [limit, sentence] of [
    [{ requests: 3 }, 'requests'],
    [{ bytes: 2_000 }, 'bytes'],
    [{ hours: -1 }, 'long'],
  ] as const) {
    const few = await openTestNode({ mirrorLimits: limit });
    const from = await addPeer(few, other.url);
    const cut = await mirror(few, from, { packs: true });
    expect(cut.limits).toEqual([expect.stringContaining(sentence)]);
    const listed = (await (await few.fetch('/api/packs')).json()) as { total: number };
    expect(listed.total).toBe(cut.packs);
  }
});

function fileOf(path: string, bytes: string) {
  return { path, sha256: sha256Of(bytes), bytes: bytes.length, media_type: 'text/plain' };
}
