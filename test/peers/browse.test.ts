import { afterEach, expect, test } from 'vitest';
import type { PeerEvent, PeerPack } from '../../shared/node/peer.ts';
import { problemOf, uploadNewPack } from '../support/archive/packs.ts';
import { LyingPeer } from '../support/network/lyingPeer.ts';
import { closePeerFronts } from '../support/network/peerFront.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { addPeer, mirror, sizeOf } from './support.ts';

afterEach(async () => {
  closePeerFronts();
  await closeTestNodes();
});

interface Page<Item> {
  items: Item[];
  total: number;
  next: string | null;
}

async function browse<Item>(node: TestNode, path: string): Promise<Page<Item>> {
  const answer = await node.fetchAsOwner(`/manage/peers/${path}`);
  expect(answer.status, await answer.clone().text()).toBe(200);
  return (await answer.json()) as Page<Item>;
}

test('the packs of a peer are listed and searched, and say which of them are here', async () => {
  const [node, other] = [await openTestNode(), await openTestNode()];
  for (const title of ['Tides', 'Winds', 'Waves']) await uploadNewPack(other, { title });
  const peer = await addPeer(node, other.url);
  const first = await browse<PeerPack>(node, `${peer.id}/packs?limit=2`);
  expect(first).toMatchObject({ total: 3, items: [{ title: 'Waves', held: false }, { title: 'Winds' }] });
  expect(first.next).toContain(`/manage/peers/${peer.id}/packs?`);
  const found = await browse<PeerPack>(node, `${peer.id}/packs?q=tides`);
  expect(found.items).toMatchObject([{ title: 'Tides', held: false, files: expect.any(Number) as number }]);
  // Nothing was taken by looking.
  expect(await sizeOf(node)).toBe(0);
  await mirror(node, peer, { packs: { q: 'tides' } });
  expect(await browse<PeerPack>(node, `${peer.id}/packs`)).toMatchObject({
    items: [{ held: false }, { held: false }, { title: 'Tides', held: true }],
  });
});

test('what a peer lists is bounded and cleaned, and an answer that no node gives is refused', async () => {
  const [node, other] = [await openTestNode(), await openTestNode()];
  await uploadNewPack(other, { title: 'Tides' });
  const front = await LyingPeer.open(other.url);
  const peer = await addPeer(node, front.url);
  const path = `${peer.id}/packs`;
  const lie = (change: (page: { items: Record<string, unknown>[] }) => unknown) => {
    front.tellTheTruth();
    front.lie(/^\/api\/packs/, (body) =>
      Buffer.from(
        JSON.stringify(change(JSON.parse(body.toString()) as { items: Record<string, unknown>[] })),
      ),
    );
  };
  lie(({ items, ...rest }) => ({
    ...rest,
    items: Array.from({ length: 500 }, () => ({
      ...items[0],
      title: `a\u0007b\u202ec${'x'.repeat(900)}`,
      more: 1,
    })),
  }));
  const { items } = await browse<PeerPack>(node, path);
  expect(items).toHaveLength(25);
  expect(items[0]?.title).toBe(`a b c${'x'.repeat(295)}`);
  lie(() => ({ items: [{ id: '../../etc' }], total: 1 }));
  expect(await problemOf(node.fetchAsOwner(`/manage/peers/${path}`))).toMatchObject({
    status: 502,
    code: 'peer_failed',
  });
  // Millions of wrong items are not noted one by one: that would fill the memory of the node.
  for (const wrong of [
    { total: 1, items: Array(2_000_000).fill({}) },
    ({ items: [first] }: { items: Record<string, unknown>[] }) => ({
      total: 1,
      items: [{ ...first, authors: Array(2_000_000).fill({}) }],
    }),
  ]) {
    lie((page) => (typeof wrong === 'function' ? wrong(page) : wrong));
    expect(await problemOf(node.fetchAsOwner(`/manage/peers/${path}`))).toMatchObject({
      code: 'peer_failed',
    });
  }
  front.tellTheTruth();
  front.lie(/^\/api\/packs/, () => Buffer.alloc(33 * 1_048_576, ' '));
  expect(await problemOf(node.fetchAsOwner(`/manage/peers/${path}`))).toMatchObject({ code: 'peer_failed' });
  expect(front.lastHeaders).not.toHaveProperty('authorization');
});

test('the timeline of a peer is listed, and visitors cannot look through this node', async () => {
  const [node, other] = [await openTestNode(), await openTestNode()];
  const peer = await addPeer(node, other.url);
  expect(await browse<PeerEvent>(node, `${peer.id}/events?q=news`)).toMatchObject({ items: [], total: 0 });
  const event = {
    id: 3,
    source: { id: `so_${'0'.repeat(20)}`, name: 'News', url: 'javascript:alert(1)', agency: '', tags: [] },
    event_type: 'changed',
    observer: 'self',
    observed_at: '2026-01-01T00:00:00.000Z',
    original_observed_at: null,
    sha256: '0'.repeat(64),
    previous_sha256: null,
  };
  const front = await LyingPeer.open(other.url);
  await node.sendJson('PATCH', `/manage/peers/${peer.id}`, { url: front.url });
  front.lie(/^\/api\/events/, () => Buffer.from(JSON.stringify({ items: [event], total: 1 })));
  expect((await browse<PeerEvent>(node, `${peer.id}/events`)).items).toEqual([
    {
      id: 3,
      source: { id: event.source.id, name: 'News', url: 'javascript:alert(1)' },
      event_type: 'changed',
      observer: 'self',
      observed_at: event.observed_at,
      original_observed_at: null,
      sha256: event.sha256,
      held: false,
    },
  ]);
  expect((await node.fetch(`/manage/peers/${peer.id}/events`)).status).toBe(401);
});
