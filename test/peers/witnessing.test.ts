import { generateKeyPairSync } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { cosignerFrom } from '../../server/ledger/witness/cosignature.ts';
import type { WitnessedLog, WitnessStates } from '../../shared/ledger/ledger.ts';
import type { Peer } from '../../shared/node/peer.ts';
import { problemOf, uploadNewPack } from '../support/archive/packs.ts';
import { closeTcpRelays, TcpRelay } from '../support/network/tcpRelay.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { addPeer, keyOf, readPeer } from './support.ts';

afterEach(async () => {
  closeTcpRelays();
  await closeTestNodes();
});

async function logsOf(node: TestNode): Promise<WitnessedLog[]> {
  const answer = await node.fetchAsOwner('/manage/witness/logs');
  return ((await answer.json()) as { items: WitnessedLog[] }).items;
}

async function submit(node: TestNode): Promise<WitnessStates> {
  const answer = await node.fetchAsOwner('/manage/witnesses/submit', { method: 'POST' });
  return (await answer.json()) as WitnessStates;
}

test('two peers cosign the checkpoints of each other, with no key typed by anyone', async () => {
  const [node, other] = [await openTestNode(), await openTestNode()];
  const answer = await node.sendJson('POST', '/manage/peers', { url: other.url, ask_to_cosign: true });
  const peer = (await answer.json()) as Peer;
  expect(peer).toMatchObject({ cosign: true, ask_to_cosign: true });
  await addPeer(other, node.url);
  expect(await logsOf(other)).toMatchObject([{ key: await keyOf(node) }]);
  await uploadNewPack(node);
  expect((await submit(node)).witnesses).toMatchObject([{ size: 1, error: null }]);
  const checkpoint = await (await node.fetch('/api/ledger/checkpoint')).text();
  const witness = (await (await other.fetch('/witness/key')).text()).split('+')[0];
  expect(checkpoint).toContain(`— ${witness} `);
});

test('cosigning is begun and ended in both directions, and ends with the peer', async () => {
  const [node, other] = [await openTestNode(), await openTestNode()];
  const answer = await node.sendJson('POST', '/manage/peers', { url: other.url, cosign: false });
  const peer = (await answer.json()) as Peer;
  expect(peer).toMatchObject({ cosign: false, ask_to_cosign: false });
  expect(await logsOf(node)).toEqual([]);
  const change = (body: object) => node.sendJson('PATCH', `/manage/peers/${peer.id}`, body);
  expect(await (await change({ cosign: true, ask_to_cosign: true })).json()).toMatchObject({
    cosign: true,
    ask_to_cosign: true,
  });
  expect(await logsOf(node)).toMatchObject([{ key: peer.key }]);
  expect(await (await change({ ask_to_cosign: false })).json()).toMatchObject({
    cosign: true,
    ask_to_cosign: false,
  });
  await change({ ask_to_cosign: true });
  await node.fetchAsOwner(`/manage/peers/${peer.id}`, { method: 'DELETE' });
  expect(await logsOf(node)).toEqual([]);
  expect(await (await node.fetchAsOwner('/manage/settings')).json()).toMatchObject({ witnesses: [] });
});

test('peers that are added at once are all asked to cosign, and the last place is not given twice', async () => {
  const [node, ...others] = [await openTestNode(), await openTestNode(), await openTestNode()];
  const witnesses = Array.from({ length: 18 }, (_, index) => {
    const { verifierKey } = cosignerFrom(`witness-${index}`, generateKeyPairSync('ed25519').privateKey);
    return { url: `http://127.0.0.1:1/${index}`, key: verifierKey };
  });
  const ask = (other: TestNode) =>
    node.sendJson('POST', '/manage/peers', { url: other.url, ask_to_cosign: true });
  expect((await node.sendJson('PATCH', '/manage/settings', { witnesses })).status).toBe(200);
  expect((await Promise.all(others.map(ask))).map(({ status }) => status)).toEqual([201, 201]);
  const asked = async () =>
    ((await (await node.fetchAsOwner('/manage/settings')).json()) as { witnesses: unknown[] }).witnesses
      .length;
  expect(await asked()).toBe(20);
  expect(await problemOf(ask(await openTestNode()))).toMatchObject({ code: 'invalid_field' });
  expect(await asked()).toBe(20);
  const { total } = (await (await node.fetchAsOwner('/manage/peers')).json()) as { total: number };
  expect(total).toBe(2);
});

test('a peer that moves stays the witness that it was', async () => {
  const [node, other] = [await openTestNode(), await openTestNode()];
  const answer = await node.sendJson('POST', '/manage/peers', { url: other.url, ask_to_cosign: true });
  const peer = (await answer.json()) as Peer;
  const url = (await TcpRelay.open(other.url)).url('http');
  await node.sendJson('PATCH', `/manage/peers/${peer.id}`, { url });
  expect(await readPeer(node, peer)).toMatchObject({ url, ask_to_cosign: true });
  expect(await (await node.fetchAsOwner('/manage/settings')).json()).toMatchObject({
    witnesses: [{ url: `${url}/witness` }],
  });
});
