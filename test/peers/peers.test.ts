import { cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { ConsistencyProof } from '../../shared/ledger/ledger.ts';
import type { Peer, PeerEvidence } from '../../shared/node/peer.ts';
import { problemOf, uploadNewPack } from '../support/archive/packs.ts';
import { type Lie, LyingPeer } from '../support/network/lyingPeer.ts';
import { closePeerFronts } from '../support/network/peerFront.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { addPeer, expectVerified, keyOf, readPeer, sizeOf } from './support.ts';

afterEach(async () => {
  closePeerFronts();
  await closeTestNodes();
});

describe('adding a peer', () => {
  test('pins the key that the node shows, and keeps its signed checkpoint', async () => {
    const [node, other] = [await openTestNode(), await openTestNode()];
    await uploadNewPack(other);
    const peer = await addPeer(node, `${other.url}/`);
    const checkpoint = await (await other.fetch('/api/ledger/checkpoint')).text();
    const key = await keyOf(other);
    expect(peer).toMatchObject({ url: other.url, key, name: key.split('+')[0], state: 'ok', checkpoint });
    expect(await (await node.fetchAsOwner('/manage/peers')).json()).toMatchObject({
      total: 1,
      items: [peer],
    });
    expect(await sizeOf(node)).toBe(0);
  });

  test('is refused where the node has another key than the one that was read aloud', async () => {
    const [node, other] = [await openTestNode(), await openTestNode()];
    const add = (body: object) => node.sendJson('POST', '/manage/peers', body);
    const wrong = await keyOf(node);
    expect(await problemOf(add({ url: other.url, key: wrong }))).toMatchObject({
      status: 409,
      code: 'key_mismatch',
    });
    expect((await add({ url: other.url, key: await keyOf(other) })).status).toBe(201);
    expect(await problemOf(add({ url: other.url }))).toMatchObject({ status: 409, code: 'peer_exists' });
    expect(await problemOf(add({ url: node.url }))).toMatchObject({ status: 409, code: 'peer_exists' });
  });

  test('is refused where no node answers, and the request has no credentials', async () => {
    const [node, other] = [await openTestNode(), await openTestNode()];
    const front = await LyingPeer.open(other.url);
    front.lie(/checkpoint/, () => Buffer.from('hello\n'));
    const add = (url: string) => problemOf(node.sendJson('POST', '/manage/peers', { url }));
    expect((await add(front.url)).code).toBe('peer_failed');
    expect(front.lastHeaders).not.toHaveProperty('authorization');
    expect(front.lastHeaders).not.toHaveProperty('cookie');
    front.tellTheTruth();
    front.lie(/key/, (_body, response) => {
      response.writeHead(302, { Location: `${other.url}/api/ledger/key` }).end();
      return undefined;
    });
    expect((await add(front.url)).detail).toMatch(/redirects to another address/);
    front.close();
    expect(await add(front.url)).toMatchObject({ status: 502, code: 'peer_failed' });
    expect((await add('http://user:password@127.0.0.1/')).code).toBe('invalid_field');
    expect((await add('ftp://127.0.0.1/')).code).toBe('invalid_field');
  });
});

test('a peer moves to another address only with its key, is renamed, and is forgotten', async () => {
  const [node, other, third] = [await openTestNode(), await openTestNode(), await openTestNode()];
  const peer = await addPeer(node, other.url);
  const patch = (body: object) => node.sendJson('PATCH', `/manage/peers/${peer.id}`, body);
  expect((await problemOf(patch({ url: third.url }))).code).toBe('key_mismatch');
  const front = await LyingPeer.open(other.url);
  expect(await (await patch({ url: front.url, name: 'The lab' })).json()).toMatchObject({
    id: peer.id,
    url: front.url,
    name: 'The lab',
    key: peer.key,
  });
  expect((await problemOf(patch({ name: 'self' }))).code).toBe('invalid_field');
  const remove = () => node.fetchAsOwner(`/manage/peers/${peer.id}`, { method: 'DELETE' });
  expect((await remove()).status).toBe(204);
  expect((await remove()).status).toBe(404);
});

test('visitors cannot see or change the peers', async () => {
  const node = await openTestNode();
  for (const method of ['GET', 'POST'])
    expect((await node.fetch('/manage/peers', { method })).status).toBe(401);
});

/** Copies a closed node and lets both go on, so that there are two histories signed by one key. */
async function twoHistories(): Promise<{ folders: [string, string] }> {
  const original = await openTestNode();
  await uploadNewPack(original, { title: 'Before' });
  await original.close();
  const copy = join(await temporaryFolder(), 'data');
  await cp(original.dataFolder, copy, { recursive: true });
  return { folders: [original.dataFolder, copy] };
}

describe('a peer that rewrote its ledger', () => {
  async function caught(
    packs: number,
  ): Promise<{ node: TestNode; peer: Peer; second: TestNode; seen: string }> {
    const { folders } = await twoHistories();
    const first = await openTestNode({ dataFolder: folders[0] });
    const front = await LyingPeer.open(first.url);
    const node = await openTestNode();
    await uploadNewPack(first, { title: 'As it was' });
    const peer = await addPeer(node, front.url);
    await first.close();
    const second = await openTestNode({ dataFolder: folders[1] });
    for (let number = 0; number < packs; number += 1)
      await uploadNewPack(second, { title: `Version ${number}` });
    front.showInstead(second.url);
    return { node, peer, second, seen: await (await second.fetch('/api/ledger/checkpoint')).text() };
  }

  for (const [what, packs] of [
    ['longer', 3],
    ['of the same size', 1],
  ] as const)
    test(`is found if the new ledger is ${what}: nothing more is taken, and both checkpoints are evidence`, async () => {
      const { node, peer, seen } = await caught(packs);
      const mirror = () =>
        problemOf(node.sendJson('POST', `/manage/peers/${peer.id}/mirror?wait=true`, { packs: true }));
      expect((await mirror()).code).toBe('peer_rewritten');
      expect((await mirror()).code).toBe('peer_rewritten');
      expect(await readPeer(node, peer)).toMatchObject({ state: 'rewritten', checkpoint: peer.checkpoint });
      const evidence = await node.fetchAsOwner(`/manage/peers/${peer.id}/evidence`);
      expect(await evidence.json()).toMatchObject({
        kept: peer.checkpoint,
        seen,
        key: peer.key,
        ledger_entry: 1,
      } satisfies Partial<PeerEvidence>);
      const { items } = (await (await node.fetch('/api/ledger')).json()) as { items: object[] };
      expect(items).toMatchObject([{ type: 'peer.rewritten', subject: peer.key }]);
      await expectVerified(node);
      await node.fetchAsOwner(`/manage/peers/${peer.id}`, { method: 'DELETE' });
      expect((await node.fetchAsOwner(`/manage/peers/${peer.id}/evidence`)).status).toBe(200);
    });

  test('is not said of a shorter ledger, which may be an old one, and found when it is as long again', async () => {
    const { node, peer, second } = await caught(0);
    const contact = () =>
      problemOf(node.sendJson('POST', `/manage/peers/${peer.id}/mirror?wait=true`, { packs: true }));
    expect((await contact()).code).toBe('peer_failed');
    expect(await readPeer(node, peer)).toMatchObject({ state: 'failing', checkpoint: peer.checkpoint });
    await uploadNewPack(second, { title: 'Another' });
    expect((await contact()).code).toBe('peer_rewritten');
    await expectVerified(node);
  });

  test('stays found in a dump, a copy and a restored archive', async () => {
    const { node, peer } = await caught(2);
    await node.fetchAsOwner(`/manage/peers/${peer.id}/contact`, { method: 'POST' });
    const out = join(await temporaryFolder(), 'archive.bag');
    const place = join(await temporaryFolder(), 'copy');
    await node.close();
    const copied = await runHere(['copy', `file://${place}`, '--data', node.dataFolder]);
    expect(copied.code, copied.stderr).toBe(0);
    const exported = await runHere(['export', '--out', out, '--data', node.dataFolder]);
    expect(exported.code, exported.stderr).toBe(0);
    const [imported, restored] = [join(await temporaryFolder(), 'a'), join(await temporaryFolder(), 'b')];
    const files = (await readdir(join(out, '..'))).filter((name) => name.startsWith('archive'));
    const imports = await runHere(['import', join(out, '..', files[0] ?? ''), '--data', imported]);
    expect(imports.code, imports.stderr).toBe(0);
    const restores = await runHere(['restore', `file://${place}`, '--data', restored]);
    expect(restores.code, restores.stderr).toBe(0);
    for (const dataFolder of [imported, restored]) {
      const verified = await runHere(['ledger', 'verify', '--data', dataFolder]);
      expect(verified.code, verified.stderr).toBe(0);
    }
  });
});

describe('an attacker on the network between two nodes', () => {
  const proof = (change: (proof: ConsistencyProof) => object) => (body: Buffer) =>
    Buffer.from(JSON.stringify(change(JSON.parse(body.toString()) as ConsistencyProof)));
  const other = Buffer.alloc(32, 7).toString('base64');

  test.each<[string, RegExp, (older: string) => Lie]>([
    ['an old checkpoint', /ledger\/checkpoint/, (older) => () => Buffer.from(older)],
    [
      'another hash in a proof',
      /ledger\/consistency/,
      () => proof(({ hashes, ...rest }) => ({ ...rest, hashes: [other, ...hashes.slice(1)] })),
    ],
    [
      'another root, or one that is none, in a proof without hashes',
      /ledger\/consistency/,
      () => proof((given) => ({ ...given, hashes: [], from_root: other })),
    ],
    [
      'another root, as if that were the beginning',
      /ledger\/consistency/,
      () => proof((given) => ({ ...given, from_root: other, hashes: [other, ...given.hashes] })),
    ],
    [
      'hashes of another length',
      /ledger\/consistency/,
      () => proof((given) => ({ ...given, hashes: ['AAAA'] })),
    ],
  ])('cannot have an honest peer recorded as rewritten, with %s', async (_, path, lieWith) => {
    const [honest, node] = [await openTestNode(), await openTestNode()];
    await uploadNewPack(honest, { title: 'One' });
    const older = await (await honest.fetch('/api/ledger/checkpoint')).text();
    for (const title of ['Two', 'Three']) await uploadNewPack(honest, { title });
    const wire = await LyingPeer.open(honest.url);
    const peer = await addPeer(node, wire.url);
    await uploadNewPack(honest, { title: 'Four' });
    wire.lie(path, lieWith(older));
    const contact = () => node.sendJson('POST', `/manage/peers/${peer.id}/mirror?wait=true`, { packs: true });
    expect(await problemOf(await contact())).toMatchObject({ code: 'peer_failed', status: 502 });
    const failing = await readPeer(node, peer);
    expect(failing).toMatchObject({ state: 'failing', checkpoint: peer.checkpoint });
    expect(failing.last_error).toContain('The next contact tries again.');
    wire.tellTheTruth();
    expect((await contact()).status).toBe(200);
    expect(await readPeer(node, peer)).toMatchObject({ state: 'ok', last_error: null });
    const { items } = (await (await node.fetch('/api/ledger?limit=500')).json()) as {
      items: { type: string }[];
    };
    expect(items.map(({ type }) => type)).not.toContain('peer.rewritten');
  });
});

test('a peer that does not answer is unreachable, and one with a foreign key is not followed', async () => {
  const [node, other, third] = [await openTestNode(), await openTestNode(), await openTestNode()];
  const front = await LyingPeer.open(other.url);
  const peer = await addPeer(node, front.url);
  const contact = async () =>
    (await (await node.fetchAsOwner(`/manage/peers/${peer.id}/contact`, { method: 'POST' })).json()) as Peer;
  front.showInstead(third.url);
  expect(await contact()).toMatchObject({ state: 'key_changed', key: peer.key });
  front.showInstead(other.url);
  await uploadNewPack(other);
  front.lie(/consistency/, () => Buffer.from('{"hashes": "none"}'));
  front.lie(/checkpoint/, (body) => body);
  const before = await contact();
  expect(before).toMatchObject({ state: 'ok' });
  await uploadNewPack(other, { title: 'Two' });
  expect(await contact()).toMatchObject({ state: 'failing', checkpoint: before.checkpoint });
  front.close();
  expect(await contact()).toMatchObject({ state: 'unreachable' });
  expect(await sizeOf(node)).toBe(0);
});

test('a peer that renewed its key is followed, because the old key signed the new one', async () => {
  const node = await openTestNode();
  const other = await openTestNode();
  await uploadNewPack(other);
  const front = await LyingPeer.open(other.url);
  const peer = await addPeer(node, front.url);
  await other.close();
  const renewed = await runHere(['key', '--renew', '--data', other.dataFolder]);
  expect(renewed.code, renewed.stderr).toBe(0);
  const again = await openTestNode({ dataFolder: other.dataFolder });
  front.showInstead(again.url);
  await node.fetchAsOwner(`/manage/peers/${peer.id}/contact`, { method: 'POST' });
  expect(await readPeer(node, peer)).toMatchObject({ state: 'ok', key: await keyOf(again) });
});
