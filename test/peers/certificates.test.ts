import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { NodeConfig } from '../../server/config.ts';
import type { Peer } from '../../shared/node/peer.ts';
import { problemOf, uploadNewPack } from '../support/archive/packs.ts';
import { closeTcpRelays, TcpRelay } from '../support/network/tcpRelay.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { addPeer, keyOf, mirror, readPeer } from './support.ts';

afterEach(async () => {
  closeTcpRelays();
  await closeTestNodes();
});

/** The HTTPS address of a node that serves it, and its certificate. */
function tlsOf(node: TestNode): { url: string; fingerprint: string } {
  expect(node.tls).toBeDefined();
  return node.tls as { url: string; fingerprint: string };
}

/** Closes a node and opens it again with another certificate. The relay leads to it. */
async function withNewCertificate(node: TestNode, relay: TcpRelay): Promise<TestNode> {
  const { dataFolder } = node;
  await node.close();
  await rm(join(dataFolder, 'tls.pem'));
  const opened = await openTestNode({ dataFolder, tls: true });
  relay.leadTo(tlsOf(opened).url);
  return opened;
}

test('a peer is added over HTTPS, and its certificate is pinned as it shows it', async () => {
  const [node, other] = [await openTestNode(), await openTestNode({ tls: true })];
  const { url, fingerprint } = tlsOf(other);
  await uploadNewPack(other);
  const peer = await addPeer(node, url);
  expect(peer).toMatchObject({ url, tls_fingerprint: fingerprint, tls_fingerprint_seen: null, state: 'ok' });
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ packs: 1, refused: [] });
});

test('a node with another certificate than the link says is refused, and so is one over plain HTTP', async () => {
  const [node, other] = [await openTestNode(), await openTestNode({ tls: true })];
  const { url, fingerprint } = tlsOf(other);
  const add = (body: object) => node.sendJson('POST', '/manage/peers', body);
  expect(await problemOf(add({ url, tls_fingerprint: '0'.repeat(64) }))).toMatchObject({
    status: 409,
    code: 'certificate_mismatch',
  });
  expect(await problemOf(add({ url: other.url, tls_fingerprint: fingerprint }))).toMatchObject({
    code: 'invalid_field',
  });
  expect((await add({ url, tls_fingerprint: fingerprint, key: await keyOf(other) })).status).toBe(201);
});

test('a changed certificate ends mirrors, repairs and contacts until the owner accepts it', async () => {
  const [node, before] = [await openTestNode(), await openTestNode({ tls: true })];
  await uploadNewPack(before);
  const relay = await TcpRelay.open(tlsOf(before).url);
  const peer = await addPeer(node, relay.url('https'));
  const other = await withNewCertificate(before, relay);
  const { fingerprint } = tlsOf(other);
  const send = (path: string) => node.sendJson('POST', `/manage/peers/${peer.id}/${path}`, { packs: true });
  expect(await problemOf(send('mirror?wait=true'))).toMatchObject({
    status: 409,
    code: 'certificate_mismatch',
  });
  const refused = {
    state: 'certificate_changed',
    tls_fingerprint: peer.tls_fingerprint,
    tls_fingerprint_seen: fingerprint,
    checkpoint: peer.checkpoint,
  };
  expect(await readPeer(node, peer)).toMatchObject(refused);
  const contact = await node.fetchAsOwner(`/manage/peers/${peer.id}/contact`, { method: 'POST' });
  expect(await contact.json()).toMatchObject(refused);
  const accept = (tls_fingerprint: string) =>
    node.sendJson('PATCH', `/manage/peers/${peer.id}`, { tls_fingerprint });
  expect(await problemOf(accept('0'.repeat(64)))).toMatchObject({ code: 'certificate_mismatch' });
  expect((await (await accept(fingerprint)).json()) as Peer).toMatchObject({
    state: 'ok',
    tls_fingerprint: fingerprint,
    tls_fingerprint_seen: null,
  });
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ packs: 1 });
});

test('a new certificate is not accepted from a node with another key', async () => {
  const [node, before] = [await openTestNode(), await openTestNode({ tls: true })];
  const relay = await TcpRelay.open(tlsOf(before).url);
  const peer = await addPeer(node, relay.url('https'));
  const stranger = await openTestNode({ tls: true });
  relay.leadTo(tlsOf(stranger).url);
  const { fingerprint: tls_fingerprint } = tlsOf(stranger);
  const answer = node.sendJson('PATCH', `/manage/peers/${peer.id}`, { tls_fingerprint });
  expect(await problemOf(answer)).toMatchObject({ code: 'key_mismatch' });
  expect(await readPeer(node, peer)).toMatchObject({ tls_fingerprint: peer.tls_fingerprint });
});

test('a peer that moves keeps its pinned certificate, unless another one is accepted with the move', async () => {
  const [node, other] = [await openTestNode(), await openTestNode({ tls: true })];
  const [first, second] = [await TcpRelay.open(tlsOf(other).url), await TcpRelay.open(tlsOf(other).url)];
  const peer = await addPeer(node, first.url('https'));
  const change = (body: object) => node.sendJson('PATCH', `/manage/peers/${peer.id}`, body);
  expect((await change({ url: second.url('https') })).status).toBe(200);
  const { fingerprint } = tlsOf(await withNewCertificate(other, first));
  expect(await problemOf(change({ url: first.url('https') }))).toMatchObject({
    code: 'certificate_mismatch',
  });
  expect(await readPeer(node, peer)).toMatchObject({
    url: second.url('https'),
    tls_fingerprint: peer.tls_fingerprint,
  });
  const moved = await change({ url: first.url('https'), tls_fingerprint: fingerprint });
  expect(await moved.json()).toMatchObject({ url: first.url('https'), tls_fingerprint: fingerprint });
});

test('a server that never finishes the handshake is given up, and costs no connection', async () => {
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const sockets = new Set<{ destroy: () => void }>();
  let ended = 0;
  silent.on('connection', (socket) => {
    sockets.add(socket);
    socket.resume().on('close', () => {
      ended += 1;
    });
  });
  const peerTimer: NodeConfig['peerTimer'] = (_ms, over) => {
    silent.once('connection', over);
    return () => undefined;
  };
  const node = await openTestNode({ peerTimer });
  const url = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  expect(await problemOf(node.sendJson('POST', '/manage/peers', { url }))).toMatchObject({
    code: 'peer_failed',
    detail: expect.stringMatching(/too slow/) as string,
  });
  await expect.poll(() => ended).toBe(sockets.size);
  silent.close();
});

test('a peer cosigns over HTTPS with its pinned certificate, and not with another one', async () => {
  const [node, before] = [await openTestNode(), await openTestNode({ tls: true })];
  const relay = await TcpRelay.open(tlsOf(before).url);
  const url = relay.url('https');
  const add = await node.sendJson('POST', '/manage/peers', { url, ask_to_cosign: true });
  expect(await add.json()).toMatchObject({ cosign: true, ask_to_cosign: true });
  await addPeer(before, node.url);
  await uploadNewPack(node);
  const submit = async () =>
    (await (await node.fetchAsOwner('/manage/witnesses/submit', { method: 'POST' })).json()) as {
      witnesses: { size: number; error: string | null }[];
    };
  expect((await submit()).witnesses).toMatchObject([{ size: 1, error: null }]);
  await withNewCertificate(before, relay);
  await uploadNewPack(node, { title: 'More' });
  expect((await submit()).witnesses).toMatchObject([{ size: 1, error: expect.any(String) as string }]);
});
