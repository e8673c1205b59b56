import { afterEach, expect, test } from 'vitest';
import type { Peer, PeerProposal } from '../../shared/node/peer.ts';
import type { Withholding } from '../../shared/node/withheld.ts';
import { openCollectingNode } from '../collection/support.ts';
import { release, show, withhold } from '../copies/withheldCopies.ts';
import { sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { contentOf, publishedSet } from '../support/archive/sets.ts';
import { LyingPeer } from '../support/network/lyingPeer.ts';
import { closePeerFronts } from '../support/network/peerFront.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { addPeer, expectVerified, mirror } from './support.ts';

afterEach(async () => {
  closePeerFronts();
  await closeTestNodes();
  await closeScriptedWebs();
});

const MARKER = 'quibblesome';
const LARGE = Buffer.concat([Buffer.from(MARKER), contentOf(3, 25_000)]);
const PIECE = LARGE.subarray(0, 10_000);

const statuses = async (node: TestNode, ...contents: (Uint8Array | string)[]) => {
  const answers = contents.map((content) => node.fetch(`/api/blobs/${sha256Of(content)}`));
  return (await Promise.all(answers)).map(({ status }) => status);
};
const withheldAt = async (node: TestNode) =>
  ((await (await node.fetch('/api/withheld')).json()) as { items: Withholding[] }).items;
const proposals = async (node: TestNode, { id }: Peer) =>
  ((await (await node.fetchAsOwner(`/manage/peers/${id}/proposals`)).json()) as { items: PeerProposal[] })
    .items;

test('what a peer withholds with a set whose list never came is withheld object by object', async () => {
  const origin = await openTestNode({ packBytes: 10_000 });
  await uploadNewPack(origin, sampleRecord(), { 'l.bin': LARGE, 's.txt': MARKER, 'o.txt': 'open' });
  const node = await openTestNode();
  const peer = await addPeer(node, origin.url);
  await mirror(node, peer, { packs: true });
  const files = { 'large.bin': LARGE, 's.txt': Buffer.from(MARKER) };
  const { manifest } = await publishedSet(origin, files, { title: 'The same' });
  await withhold(origin, { pack: manifest.id }, 'legal_order');
  const first = await mirror(node, peer, { packs: true });
  expect(first).toMatchObject({ sets_without_parts: 1, refused: [] });
  expect(await statuses(node, LARGE, MARKER, 'open')).toEqual([451, 451, 200]);
  expect((await withheldAt(node)).map(({ reason }) => reason)).toContain('legal_order');
  await uploadNewPack(origin, sampleRecord({ title: 'Later' }), { 'c.txt': 'later' });
  expect((await mirror(node, peer, { packs: true })).withheld).toBeUndefined();
  expect(await statuses(node, LARGE, MARKER)).toEqual([451, 451]);
  await show(origin, { pack: manifest.id });
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ refused: [] });
  expect(await statuses(node, LARGE, MARKER)).toEqual([200, 200]);
  expect([await withheldAt(node), await proposals(node, peer)]).toEqual([[], []]);
  await expectVerified(node);
});

test('an object that a peer withholds with several packs that are not here is shown after the last of them', async () => {
  const origin = await openTestNode();
  await uploadNewPack(origin, sampleRecord({ title: 'Mirrored' }), { 'a.txt': MARKER });
  const packs: string[] = [];
  for (const title of ['One', 'Two'])
    packs.push((await uploadNewPack(origin, sampleRecord({ title }), { 'a.txt': MARKER })).id);
  const node = await openTestNode();
  const peer = await addPeer(node, origin.url);
  const some = { packs: { q: 'Mirrored' } };
  await mirror(node, peer, some);
  for (const pack of packs) await withhold(origin, { pack });
  expect(await mirror(node, peer, some)).toMatchObject({ withheld: 2 });
  // Also if it is withheld by itself.
  await withhold(origin, { sha256: sha256Of(MARKER) });
  expect(await mirror(node, peer, some)).toMatchObject({ withheld: 1 });
  for (const target of [{ pack: packs[0] }, { sha256: sha256Of(MARKER) }, { pack: packs[1] }]) {
    expect(await statuses(node, MARKER)).toEqual([451]);
    await show(origin, target);
    await mirror(node, peer, some);
  }
  expect(await statuses(node, MARKER)).toEqual([200]);
  await expectVerified(node);
});

test('what this node has from elsewhere, of a pack that is not here, is proposed object by object', async () => {
  const origin = await openTestNode();
  const files = { 'a.txt': MARKER, 'b.txt': 'ours', 'c.txt': 'ours, too' };
  const { id: pack } = await uploadNewPack(origin, sampleRecord({ title: 'Withheld' }), files);
  await uploadNewPack(origin, sampleRecord({ title: 'Mirrored' }), { 'a.txt': MARKER });
  const node = await openTestNode();
  await uploadNewPack(node, sampleRecord({ title: 'Ours' }), { 'b.txt': 'ours', 'c.txt': 'ours, too' });
  const peer = await addPeer(node, origin.url);
  const some = { packs: { q: 'Mirrored' } };
  await mirror(node, peer, some);
  await withhold(origin, { pack }, 'copyright');
  expect(await mirror(node, peer, some)).toMatchObject({ withheld: 1, proposed: 2 });
  expect(await statuses(node, MARKER, 'ours', 'ours, too')).toEqual([451, 200, 200]);
  const waiting = await proposals(node, peer);
  expect(new Set(waiting.map(({ sha256 }) => sha256))).toEqual(
    new Set([sha256Of('ours'), sha256Of('ours, too')]),
  );
  expect(waiting.every(({ kind, reason }) => kind === 'withheld' && reason === 'copyright')).toBe(true);
  const [taken] = waiting.filter(({ sha256 }) => sha256 === sha256Of('ours'));
  const path = `/manage/peers/${peer.id}/proposals/${taken?.number}`;
  expect((await node.sendJson('POST', path, { decision: 'take' })).status).toBe(200);
  expect(await statuses(node, 'ours', 'ours, too')).toEqual([451, 200]);
  const note = expect.stringContaining('No ledger entry proves the list') as string;
  expect(await withheldAt(node)).toContainEqual(expect.objectContaining({ sha256: sha256Of('ours'), note }));
  // When the peer shows the pack, what was taken is proposed to be shown. The rest needs no decision.
  await show(origin, { pack });
  expect(await mirror(node, peer, some)).toMatchObject({ shown: 1, proposed: 1 });
  expect(await statuses(node, MARKER, 'ours', 'ours, too')).toEqual([200, 451, 200]);
  expect(await proposals(node, peer)).toMatchObject([{ kind: 'shown', sha256: sha256Of('ours') }]);
  await expectVerified(node);
});

test('an object that the mirror has from a source is withheld with a pack that it does not have', async () => {
  const web = await ScriptedWeb.open();
  web.script('/a', page(MARKER));
  const origin = await openCollectingNode();
  await origin.watch(web.url('/a'));
  await origin.check();
  const { id: pack } = await uploadNewPack(origin.node, {}, { 'a.txt': MARKER });
  const node = await openTestNode();
  const peer = await addPeer(node, origin.node.url);
  await mirror(node, peer, { sources: true });
  await withhold(origin.node, { pack });
  expect(await mirror(node, peer, { sources: true })).toMatchObject({ withheld: 1 });
  expect((await node.fetch(`/archive/${sha256Of(MARKER)}`)).status).toBe(451);
});

test('parts that come once the list of their set is shown are followed at once', async () => {
  const origin = await openTestNode({ packBytes: 10_000 });
  await publishedSet(origin, { 'large.bin': LARGE }, { title: 'One' });
  const node = await openTestNode();
  const peer = await addPeer(node, origin.url);
  await mirror(node, peer, { packs: true });
  const files = { 'large.bin': LARGE, 'b.csv': contentOf(2, 3_000) };
  const { manifest } = await publishedSet(origin, files, { title: 'Two' });
  const sha256 = manifest.files[0]?.sha256;
  await withhold(origin, { sha256 });
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ sets_without_parts: 1 });
  await show(origin, { sha256 });
  const listed = await (await origin.fetch('/api/packs?parts=true&limit=100')).json();
  const packs = (listed as { items: { id: string; files: { sha256: string }[] }[] }).items;
  for (const { id } of packs.filter(({ files: [file] }) => file?.sha256 === sha256Of(PIECE)))
    if ((await node.fetch(`/api/packs/${id}`)).status === 404) await withhold(origin, { pack: id });
  expect(await statuses(origin, PIECE)).toEqual([451]);
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ withheld: 1, packs: 4 });
  expect(await statuses(node, PIECE)).toEqual([451]);
  await expectVerified(node);
});

test('a part that the peer gave up stays withheld when the file that has it comes from the peer again', async () => {
  const origin = await openTestNode({ packBytes: 10_000 });
  await publishedSet(origin, { 'large.bin': LARGE });
  const node = await openTestNode();
  const peer = await addPeer(node, origin.url);
  await mirror(node, peer, { packs: true });
  await release(origin, sha256Of(PIECE));
  await uploadNewPack(origin, sampleRecord({ title: 'Whole' }), { 'l.bin': LARGE });
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ packs: 1, released: 1 });
  expect(await statuses(node, PIECE)).toEqual([451]);
  await mirror(node, peer, { packs: true });
  expect([await statuses(node, PIECE), await proposals(node, peer)]).toEqual([[451], []]);
  await expectVerified(node);
});

for (const order of ['before', 'after'] as const)
  test(`a file that this node publishes ${order} a peer withholds a part of it is not withheld with the part`, async () => {
    const origin = await openTestNode({ packBytes: 10_000 });
    await publishedSet(origin, { 'large.bin': LARGE });
    const node = await openTestNode();
    const peer = await addPeer(node, origin.url);
    const publish = () => uploadNewPack(node, sampleRecord({ title: 'Ours' }), { 'l.bin': LARGE });
    if (order === 'before') await publish();
    else await mirror(node, peer, { packs: true });
    await withhold(origin, { sha256: sha256Of(PIECE) });
    // The digest of the file cannot be known without the part, so the list could hide any file.
    const refused = order === 'before' ? [{ reason: 'missing_object', count: 1 }] : [];
    expect(await mirror(node, peer, { packs: true })).toMatchObject({ refused });
    if (order === 'after') expect(await statuses(node, PIECE)).toEqual([451]);
    if (order === 'after') await publish();
    expect(await statuses(node, LARGE)).toEqual([200]);
    const proposed = order === 'before' ? [] : [{ kind: 'withheld', sha256: sha256Of(PIECE) }];
    expect(await proposals(node, peer)).toMatchObject(proposed);
    await expectVerified(node);
  });

/** A peer that withholds one object, whose list of what it covers is altered on the way, and a node that has mirrored it. */
async function alteredOnTheWay() {
  const origin = await openTestNode();
  await uploadNewPack(origin, sampleRecord({ title: 'One' }), { 'a.txt': MARKER });
  await uploadNewPack(origin, sampleRecord({ title: 'Two' }), { 'c.txt': 'evidence' });
  const node = await openTestNode();
  const front = await LyingPeer.open(origin.url);
  const peer = await addPeer(node, front.url);
  await mirror(node, peer, { packs: true });
  await withhold(origin, { sha256: sha256Of(MARKER) });
  front.lie(/^\/api\/withheld\/objects/, (body) => {
    const list = JSON.parse(String(body)) as { items: object[] };
    list.items.push({ ...list.items[0], sha256: sha256Of('evidence') });
    return Buffer.from(JSON.stringify(list));
  });
  return { origin, node, front, peer };
}

test('what a list names that no entry proves is not withheld while the peer gives it to everybody', async () => {
  const { node, peer } = await alteredOnTheWay();
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ withheld: 1, refused: [] });
  expect(await statuses(node, MARKER, 'evidence')).toEqual([451, 200]);
  expect(await withheldAt(node)).toMatchObject([{ sha256: sha256Of(MARKER) }]);
});

test('what a list names that no entry proves is withheld only until an honest list does not name it', async () => {
  const { node, front, peer } = await alteredOnTheWay();
  front.lie(new RegExp(sha256Of('evidence')), (_body, response) => void response.writeHead(451).end());
  await mirror(node, peer, { packs: true });
  expect(await statuses(node, MARKER, 'evidence')).toEqual([451, 451]);
  const notes = (await withheldAt(node)).map(({ sha256, note }) => [sha256, note]);
  expect(notes).toEqual([
    [sha256Of('evidence'), expect.stringContaining('No ledger entry proves the list') as string],
    [sha256Of(MARKER), expect.stringContaining('withholds this') as string],
  ]);
  front.tellTheTruth();
  // The ledger of the peer has not grown.
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ shown: 1, refused: [] });
  expect(await statuses(node, MARKER, 'evidence')).toEqual([451, 200]);
  expect(await withheldAt(node)).toMatchObject([{ sha256: sha256Of(MARKER) }]);
  expect(await proposals(node, peer)).toEqual([]);
  await expectVerified(node);
});

test('a list that was shortened on the way shows nothing that the peer withholds', async () => {
  const origin = await openTestNode();
  const { id: pack } = await uploadNewPack(origin, sampleRecord({ title: 'Not taken' }), { 'a.txt': MARKER });
  await uploadNewPack(origin, sampleRecord({ title: 'Mirrored' }), { 'a.txt': MARKER });
  const node = await openTestNode();
  const front = await LyingPeer.open(origin.url);
  const peer = await addPeer(node, front.url);
  const some = { packs: { q: 'Mirrored' } };
  await mirror(node, peer, some);
  await withhold(origin, { pack });
  expect(await mirror(node, peer, some)).toMatchObject({ withheld: 1 });
  front.lie(/^\/api\/withheld\/objects/, (body) =>
    Buffer.from(JSON.stringify({ ...(JSON.parse(String(body)) as object), items: [], total: 0 })),
  );
  for (const bytes of [undefined, Buffer.from('other bytes')]) {
    if (bytes) front.lie(/^\/(api\/blobs|archive)\//, () => bytes);
    expect((await mirror(node, peer, some)).shown).toBeUndefined();
    expect(await statuses(node, MARKER)).toEqual([451]);
  }
  front.tellTheTruth();
  await show(origin, { pack });
  expect(await mirror(node, peer, some)).toMatchObject({ shown: 1 });
  expect(await statuses(node, MARKER)).toEqual([200]);
  expect(await withheldAt(node)).toEqual([]);
});
