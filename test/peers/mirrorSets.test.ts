import { afterEach, describe, expect, test } from 'vitest';
import type { Pack } from '../../shared/archive/pack.ts';
import type { SetManifest } from '../../shared/archive/set.ts';
import { filesWith, release, show, withhold } from '../copies/withheldCopies.ts';
import { filesOf, packForm, sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { contentOf, publishedSet, uploadManifest } from '../support/archive/sets.ts';
import { LyingPeer } from '../support/network/lyingPeer.ts';
import { closePeerFronts } from '../support/network/peerFront.ts';
import { share } from '../support/network/sharing.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { addPeer, expectVerified, mirror } from './support.ts';

/* A set of a peer may have a file of this archive, in pieces. They come before the list that says so. */

afterEach(async () => {
  closePeerFronts();
  await closeTestNodes();
});

const MARKER = 'frangipane in the large file';
const LARGE = Buffer.concat([Buffer.from(MARKER), Buffer.from(contentOf(3, 25_000))]);
const SMALL = contentOf(2, 5_000);
const PIECES = [0, 10_000, 20_000].map((start) => sha256Of(LARGE.subarray(start, start + 10_000)));

const statusesOf = (node: TestNode, digests: readonly string[]) =>
  Promise.all(digests.map(async (sha256) => (await node.fetch(`/api/blobs/${sha256}`)).status));

/** A peer behind a front with a set, and a node that has its large file whole. */
async function twoNodes(): Promise<{ peer: TestNode; front: LyingPeer; node: TestNode; set: string }> {
  const peer = await openTestNode({ packBytes: 10_000 });
  const { manifest } = await publishedSet(peer, { 'b.csv': SMALL, 'large.bin': Buffer.from(LARGE) });
  const front = await LyingPeer.open(peer.url);
  const node = await openTestNode();
  await uploadNewPack(node, {}, { 'large.bin': LARGE });
  return { peer, front, node, set: manifest.id };
}

/** The part with the small file does not come, so the list does not come either. */
function interrupt(front: LyingPeer): void {
  front.lie(new RegExp(sha256Of(SMALL)), (_body, response) => {
    response.destroy();
    return undefined;
  });
}

describe('a set of a peer with a file of this archive', () => {
  test('that was released here is refused with its pieces', async () => {
    const { front, node, set } = await twoNodes();
    await release(node, sha256Of(LARGE));
    const added = await addPeer(node, front.url);
    for (const _ of [1, 2])
      expect(await mirror(node, added, { packs: true })).toMatchObject({
        packs: 0,
        refused: [{ reason: 'released', count: 1 }],
      });
    expect(await statusesOf(node, PIECES)).toEqual([404, 404, 404]);
    expect((await node.fetch(`/api/packs/${set}`)).status).toBe(404);
    expect(await filesWith(node.dataFolder, MARKER)).toEqual([]);
  });

  test('that is withheld here does not show it in pieces, also if the list does not come', async () => {
    const { front, node, set } = await twoNodes();
    await withhold(node, { sha256: sha256Of(LARGE) });
    const added = await addPeer(node, front.url);
    interrupt(front);
    expect(await mirror(node, added, { packs: true })).toMatchObject({
      packs: 3,
      refused: [{ reason: 'missing_reference', count: 1 }],
    });
    expect(await statusesOf(node, PIECES)).toEqual([451, 451, 451]);
    front.tellTheTruth();
    expect(await mirror(node, added, { packs: true })).toMatchObject({ packs: 2, refused: [] });
    expect(await statusesOf(node, PIECES)).toEqual([451, 451, 451]);
    expect((await node.fetch(`/api/packs/${set}/set/files/b.csv`)).status).toBe(200);
    await show(node, { sha256: sha256Of(LARGE) });
    expect(await statusesOf(node, PIECES)).toEqual([200, 200, 200]);
    await expectVerified(node);
  });

  test('that is withheld after a mirror was interrupted does not show it in pieces', async () => {
    const { front, node } = await twoNodes();
    const added = await addPeer(node, front.url);
    interrupt(front);
    await mirror(node, added, { packs: true });
    expect(await statusesOf(node, PIECES)).toEqual([200, 200, 200]);
    await withhold(node, { sha256: sha256Of(LARGE) });
    expect(await statusesOf(node, PIECES)).toEqual([451, 451, 451]);
  });

  test('that comes whole after a mirror was interrupted is tied to the pieces by the next one', async () => {
    const { front } = await twoNodes();
    const node = await openTestNode();
    const added = await addPeer(node, front.url);
    interrupt(front);
    await mirror(node, added, { packs: true });
    await uploadNewPack(node, {}, { 'large.bin': LARGE });
    await withhold(node, { sha256: sha256Of(LARGE) });
    await mirror(node, added, { packs: true });
    expect(await statusesOf(node, PIECES)).toEqual([451, 451, 451]);
  });

  test('that the peer does not give in whole is refused, and comes once it does', async () => {
    const { peer, front, node, set } = await twoNodes();
    await withhold(peer, { sha256: PIECES[1] });
    const added = await addPeer(node, front.url);
    expect(await mirror(node, added, { packs: true })).toMatchObject({
      packs: 0,
      refused: [{ reason: 'missing_object', count: 1 }],
    });
    await show(peer, { sha256: PIECES[1] });
    expect(await mirror(node, added, { packs: true })).toMatchObject({ packs: 5, refused: [] });
    expect((await node.fetch(`/api/packs/${set}/set/files/large.bin`)).status).toBe(200);
  });
});

test('a list of a peer that names a file of this archive ties it to nothing else', async () => {
  const { peer, front, node, set } = await twoNodes();
  const { files } = (await (await peer.fetch(`/api/packs/${set}`)).json()) as Pack;
  const list = (await (await peer.fetch(`/api/blobs/${files[0]?.sha256}`)).json()) as SetManifest;
  const [, large] = list.files;
  const given = large?.parts[0];
  if (!large || !given) throw new Error('The set has no large file.');
  // The owner of the peer is believed there, because one of the parts is gone.
  await release(peer, given.sha256);
  const junk = Buffer.from(contentOf(9, LARGE.length - given.bytes));
  const { id: pack } = await uploadNewPack(peer, { title: 'Junk' }, { junk });
  const added = await addPeer(node, front.url);
  await mirror(node, added, { packs: true });
  const parts = [given, { pack, path: 'junk', bytes: junk.length, sha256: sha256Of(junk) }];
  const manifest = { ...list, files: [{ ...large, parts }] };
  expect((await uploadManifest(peer, manifest)).status).toBe(201);
  const { refused } = await mirror(node, added, { packs: true });
  expect(refused).toEqual([{ reason: 'missing_object', count: 2 }]);
  expect(await statusesOf(node, [sha256Of(junk), sha256Of(LARGE)])).toEqual([200, 200]);
  await withhold(node, { sha256: sha256Of(junk) });
  expect(await statusesOf(node, [sha256Of(junk), sha256Of(LARGE)])).toEqual([451, 200]);
});

describe('a set that the peer withholds, of which somebody else has one piece,', () => {
  const FIRST = Buffer.from(LARGE.subarray(0, 10_000));

  const others: Record<string, (node: TestNode) => Promise<void>> = {
    'another peer': async (node) => {
      const other = await openTestNode({ packBytes: 10_000 });
      const log = Buffer.concat([FIRST, contentOf(9, 6_000)]);
      await publishedSet(other, { 'c.csv': contentOf(4, 5_000), 'log.bin': log });
      await mirror(node, await addPeer(node, other.url), { packs: true });
    },
    'a visitor': async (node) => {
      await share(node, 'contribute');
      const body = packForm(sampleRecord({ title: 'Mine' }), { 'x.bin': FIRST });
      expect((await node.fetch('/api/packs', { method: 'POST', body })).status).toBe(201);
    },
  };

  for (const [who, bring] of Object.entries(others))
    test.each(['before', 'after'])(`${who}, stays withheld in the others (%s)`, async (order) => {
      const { peer, node: _, set } = await twoNodes();
      const node = await openTestNode();
      const added = await addPeer(node, peer.url);
      await mirror(node, added, { packs: true });
      if (order === 'before') await bring(node);
      await withhold(peer, { pack: set });
      await mirror(node, added, { packs: true });
      if (order === 'after') await bring(node);
      // The pack with the first piece is the same at both peers, and came from the first.
      const first = who === 'a visitor' ? 200 : 451;
      expect(await statusesOf(node, PIECES)).toEqual([first, 451, 451]);
      await mirror(node, added, { packs: true });
      expect(await statusesOf(node, PIECES)).toEqual([first, 451, 451]);
      await show(peer, { pack: set });
      await mirror(node, added, { packs: true });
      expect(await statusesOf(node, PIECES)).toEqual([200, 200, 200]);
      await expectVerified(node);
    });
});

test('a set of a visitor that joins bytes of the peer with bytes of this archive shows neither and hides neither', async () => {
  const [peer, node] = [await openTestNode(), await openTestNode()];
  await share(node, 'contribute');
  const [theirs, ours] = ['A letter of the peer.', 'A report of this archive.'];
  await uploadNewPack(peer, { title: 'Letter' }, { 's.txt': theirs });
  await uploadNewPack(node, { title: 'Report' }, { 'r.txt': ours });
  const added = await addPeer(node, peer.url);
  await mirror(node, added, { packs: true });
  await withhold(peer, { sha256: sha256Of(theirs) });
  await mirror(node, added, { packs: true });
  const send = (body: string | FormData) =>
    node.fetch('/api/packs', {
      method: 'POST',
      body,
      ...(typeof body === 'string' && { headers: { 'Content-Type': 'application/json' } }),
    });
  const files = filesOf({ x: theirs, y: ours });
  const part = {
    title: 'Part',
    keywords: ['strongroom-set-part@1'],
    related: [{ relation: 'IsPartOf' as const, identifier: `sha256:${'0'.repeat(64)}` }],
  };
  const named = await send(JSON.stringify(sampleRecord({ ...part, files })));
  const { id: pack } = (await named.json()) as { id: string };
  const parts = files.map(({ path, bytes, sha256 }) => ({ pack, path, bytes, sha256 }));
  const joined = theirs + ours;
  const whole = { path: 'f', bytes: joined.length, sha256: sha256Of(joined), parts };
  const list = JSON.stringify({ format: 'strongroom-set@1', files: [whole] });
  const sent = await send(packForm(sampleRecord({ title: 'A set' }), { 'set.json': list }));
  expect(sent.status, await sent.text()).toBe(201);
  expect(await statusesOf(node, [sha256Of(theirs), sha256Of(ours)])).toEqual([451, 200]);
  await mirror(node, added, { packs: true });
  expect(await statusesOf(node, [sha256Of(theirs), sha256Of(ours)])).toEqual([451, 200]);
});
