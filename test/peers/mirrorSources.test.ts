import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { fetchObjects } from '../../server/peers/mirror/mirrorSources.ts';
import { MAX_CONNECTIONS, PeerError } from '../../server/peers/peerClient.ts';
import { openStore } from '../../server/store/store.ts';
import type { EventDetails, EventObservers } from '../../shared/collection/event.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { type CollectingNode, openCollectingNode } from '../collection/support.ts';
import { sha256Of } from '../support/archive/packs.ts';
import { LyingPeer } from '../support/network/lyingPeer.ts';
import { closePeerFronts } from '../support/network/peerFront.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { addPeer, expectVerified, mirror, sizeOf } from './support.ts';

afterEach(async () => {
  closePeerFronts();
  await closeTestNodes();
  await closeScriptedWebs();
});

/** A peer that watched two pages, one of which changed and came back. */
async function watchingPeer(): Promise<{ peer: CollectingNode; web: ScriptedWeb; sources: string[] }> {
  const web = await ScriptedWeb.open();
  web.script('/a', page('one'), page('two'), page('one'));
  web.script('/b', page('still'));
  const peer = await openCollectingNode();
  const sources = [await peer.watch(web.url('/a')), await peer.watch(web.url('/b'))].map(({ id }) => id);
  for (let round = 0; round < 3; round += 1) await peer.check();
  return { peer, web, sources };
}

interface Row {
  event_type: string;
  observer: string;
  sha256: string | null;
  original_observed_at: string | null;
  observed_at: string;
}
const timeline = async (node: TestNode, source: string) =>
  ((await (await node.fetch(`/api/events?source=${source}`)).json()) as { items: Row[] }).items.reverse();

test('a mirrored source has the name and the agency that it has at the peer, unless the owner chose others', async () => {
  const web = await ScriptedWeb.open();
  web.script('/a', page('one'), page('two'));
  const peer = await openCollectingNode();
  const { id } = await peer.watch(web.url('/a'), { name: 'Fees', agency: 'Registry' });
  await peer.check();
  const node = await openTestNode();
  const added = await addPeer(node, peer.node.url);
  const labels = async () => (await node.fetch(`/api/sources/${id}`)).json();
  await mirror(node, added, { sources: true });
  expect(await labels()).toMatchObject({ name: 'Fees', agency: 'Registry', captures_only: true });
  await node.sendJson('PATCH', `/manage/sources/${id}`, { name: 'Prices' });
  await peer.check();
  expect(await mirror(node, added, { sources: true })).toMatchObject({ events: 1 });
  expect(await labels()).toMatchObject({ name: 'Prices', agency: 'Registry' });
  await expectVerified(node);
});

test('what the peer retrieved arrives as captures under its name and time, and once only', async () => {
  const { peer, sources } = await watchingPeer();
  const node = await openTestNode();
  const added = await addPeer(node, peer.node.url);
  const bytes = 'one'.length + 'two'.length + 'still'.length;
  expect(await mirror(node, added, { sources: true })).toEqual({
    packs: 0,
    events: 4,
    objects: 3,
    bytes,
    already_held: 0,
    refused: [],
  });
  const [here, there] = [await timeline(node, sources[0] ?? ''), await timeline(peer.node, sources[0] ?? '')];
  expect(here).toMatchObject(
    there.map(({ event_type, sha256, observed_at }) => ({
      event_type,
      sha256,
      observer: added.name,
      original_observed_at: observed_at,
    })),
  );
  expect(await (await node.fetch(`/archive/${sha256Of('two')}`)).text()).toBe('two');
  const size = await sizeOf(node);
  expect(await mirror(node, added, { sources: true })).toMatchObject({
    events: 0,
    objects: 0,
    already_held: 6,
  });
  expect(await sizeOf(node)).toBe(size);
  await peer.check();
  expect(await mirror(node, added, { sources: true })).toMatchObject({
    events: 0,
    already_held: 6,
    refused: [],
  });
  await expectVerified(node);
});

test('only the chosen sources are taken', async () => {
  const { peer, sources } = await watchingPeer();
  const node = await openTestNode();
  const added = await addPeer(node, peer.node.url);
  expect(await mirror(node, added, { sources: [sources[1] ?? ''] })).toMatchObject({ events: 1, objects: 1 });
  expect(await (await node.fetch('/api/sources')).json()).toMatchObject({ total: 1 });
  expect(await mirror(node, added, { sources: true })).toMatchObject({
    events: 3,
    objects: 2,
    already_held: 3,
  });
});

test('an event names the other observers that hold the same digest', async () => {
  const { peer, web, sources } = await watchingPeer();
  const node = await openCollectingNode();
  web.script('/b', page('still'));
  await node.watch(web.url('/b'));
  await node.check();
  const added = await addPeer(node.node, peer.node.url);
  await mirror(node.node, added, { sources: true });
  const [own] = await node.events('observer=self');
  const event = (await (await node.node.fetch(`/api/events/${own?.id}`)).json()) as EventDetails;
  expect(event.corroborated_by).toEqual([added.name]);
  const seen = (await (await node.node.fetch(`/api/events/${own?.id}/observers`)).json()) as EventObservers;
  const theirs = await peer.retrievals(sources[1] ?? '');
  expect(seen).toEqual({
    sha256: sha256Of('still'),
    observers: [
      {
        observer: added.name,
        first: theirs[0]?.observed_at,
        last: theirs.at(-1)?.observed_at,
        retrievals: theirs.length,
      },
      { observer: 'self', first: own?.observed_at, last: own?.observed_at, retrievals: 1 },
    ],
  });
});

test('page captures that are made while a mirror runs hide no earlier one', async () => {
  const web = await ScriptedWeb.open();
  const html = { headers: { 'content-type': 'text/html; charset=utf-8' } };
  web.script('/', page('<title>One</title><p>One', html), page('<title>Two</title><p>Two', html));
  const peer = await openCollectingNode();
  await peer.watch(web.url('/'), { capture: 'page' });
  await peer.check();
  const front = await LyingPeer.open(peer.node.url);
  const node = await openTestNode();
  const added = await addPeer(node, front.url);
  await mirror(node, added, { sources: true });
  await peer.check();
  // A hundred that are newer than the checkpoint are listed before the one that it covers.
  let real: Buffer | undefined;
  front.lie(/^\/archive\/pages\?/, (body) => {
    if (real) return real;
    real = body;
    const items = Array.from({ length: 100 }, (_, at) => ({
      id: `pg_${String(at).padStart(20, '0')}`,
      ledger_entry: 1_000 + at,
    }));
    return Buffer.from(JSON.stringify({ items }));
  });
  await mirror(node, added, { sources: true });
  front.tellTheTruth();
  await mirror(node, added, { sources: true });
  const count = async (at: TestNode) =>
    ((await (await at.fetch('/archive/pages')).json()) as { total: number }).total;
  expect([await count(node), await count(peer.node)]).toEqual([2, 2]);
  await expectVerified(node);
});

for (const [what, path, from, to, reason] of [
  ['bytes', /^\/archive\//, 'still', 'STILL', 'wrong_bytes'],
  ['a retrieval', /^\/api\/retrievals/, '"status":200', '"status":203', 'wrong_record'],
  ['the root of a batch', /^\/api\/retrievals/, '"first":1', '"first":2', 'wrong_record'],
] as const)
  test(`a peer that lies about ${what} costs nothing but its refusal`, async () => {
    const web = await ScriptedWeb.open();
    web.script('/b', page('still'));
    const peer = await openCollectingNode();
    await peer.watch(web.url('/b'));
    await peer.check();
    const front = await LyingPeer.open(peer.node.url);
    const node = await openTestNode();
    const added = await addPeer(node, front.url);
    front.lie(path, (body) => Buffer.from(body.toString().replaceAll(from, to)));
    expect(await mirror(node, added, { sources: true })).toMatchObject({
      events: 0,
      objects: 0,
      refused: [{ reason, count: 1 }],
    });
    expect(await sizeOf(node)).toBe(0);
    front.tellTheTruth();
    expect(await mirror(node, added, { sources: true })).toMatchObject({
      events: 1,
      objects: 1,
      refused: [],
    });
  });

const digestOf = (body: string) => new RegExp(`^/archive/${sha256Of(body)}`);

for (const [fails, lie] of [
  ['with an error', (_: Buffer, response: ServerResponse) => void response.writeHead(500).end()],
  ['with other bytes once', undefined],
] as const)
  test(`what came after a capture that fails ${fails} is not recorded before it`, async () => {
    const { peer, sources } = await watchingPeer();
    const front = await LyingPeer.open(peer.node.url);
    const node = await openTestNode();
    const added = await addPeer(node, front.url);
    let asked = 0;
    front.lie(digestOf('one'), lie ?? ((body) => (++asked === 1 ? Buffer.from('ONE') : body)));
    const first = await mirror(node, added, { sources: true });
    if (lie) expect(first).toMatchObject({ events: 1, refused: [{ reason: 'missing_object', count: 2 }] });
    else expect(first).toMatchObject({ events: 4, refused: [] });
    front.tellTheTruth();
    expect((await mirror(node, added, { sources: true })).refused).toEqual([]);
    const [here, there] = [
      await timeline(node, sources[0] ?? ''),
      await timeline(peer.node, sources[0] ?? ''),
    ];
    const kinds = (rows: Row[]) => rows.map(({ event_type, sha256 }) => [event_type, sha256]);
    expect(kinds(here)).toEqual(kinds(there));
    await expectVerified(node);
  });

for (const [what, lie] of [
  ['says it does not have', (_: Buffer, response: ServerResponse) => void response.writeHead(404).end()],
  [
    'says it has not intact',
    (_: Buffer, response: ServerResponse) =>
      void response
        .writeHead(500, { 'Content-Type': 'application/problem+json' })
        .end('{"code":"blob_damaged"}'),
  ],
  ['has with other bytes', () => Buffer.from('ONE')],
] as const)
  test(`an object that the peer ${what} holds up no later capture`, async () => {
    const { peer, sources } = await watchingPeer();
    const front = await LyingPeer.open(peer.node.url);
    const node = await openTestNode();
    const added = await addPeer(node, front.url);
    front.lie(digestOf('one'), lie);
    expect(await mirror(node, added, { sources: true })).toMatchObject({
      events: 2,
      refused: [{ count: 2 }],
    });
    expect(await timeline(node, sources[0] ?? '')).toMatchObject([{ sha256: sha256Of('two') }]);
    await expectVerified(node);
  });

test('a page capture is not recorded without a part that failed by an error', async () => {
  const web = await ScriptedWeb.open();
  const html = { headers: { 'content-type': 'text/html; charset=utf-8' } };
  web.script('/', page('<title>One</title><link rel="stylesheet" href="/a.css"><p>One', html));
  web.script('/a.css', page('p{color:red}', { headers: { 'content-type': 'text/css' } }));
  const peer = await openCollectingNode();
  await peer.watch(web.url('/'), { capture: 'page' });
  await peer.check();
  const front = await LyingPeer.open(peer.node.url);
  const node = await openTestNode();
  const added = await addPeer(node, front.url);
  front.lie(digestOf('p{color:red}'), (_, response) => void response.writeHead(500).end());
  const pages = async () => ((await (await node.fetch('/archive/pages')).json()) as { total: number }).total;
  await mirror(node, added, { sources: true });
  expect(await pages()).toBe(0);
  front.tellTheTruth();
  expect((await mirror(node, added, { sources: true })).refused).toEqual([]);
  expect(await pages()).toBe(1);
  expect(await (await node.fetch(`/archive/${sha256Of('p{color:red}')}`)).text()).toBe('p{color:red}');
  await expectVerified(node);
});

test('a peer that is gone is asked for no further object', async () => {
  const asked: string[] = [];
  const store = await openStore({ folder: join(await temporaryFolder(), 'data'), clock: systemClock });
  const mirroring = {
    store,
    peer: { id: 'pe', name: 'Peer' },
    origin: 1,
    log: { origin: 'peer' },
    receiver: { isStored: async () => false, receive: (chunks: AsyncIterable<Buffer>) => buffer(chunks) },
    client: {
      stream: async function* (path: string) {
        asked.push(path);
        await setImmediate();
        if (asked.length > 0) throw new PeerError('unreachable', 'It is gone.');
        yield Buffer.alloc(0);
      },
    },
    tally: { shouldStop: false },
    signal: new AbortController().signal,
  };
  const wanted = Array.from({ length: 100 }, (_, number) => ({ sha256: sha256Of(`${number}`), bytes: 1 }));
  await expect(fetchObjects(mirroring as never, wanted)).rejects.toThrow('It is gone.');
  expect(asked).toHaveLength(MAX_CONNECTIONS);
  await store.close();
});
