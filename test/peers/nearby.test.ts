import { generateKeyPairSync } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type Answer, decode, encode, type Packet, type Question } from 'dns-packet';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { machineAddresses } from '../../server/http/security/addresses.ts';
import { cosignerFrom } from '../../server/ledger/witness/cosignature.ts';
import { Nearby } from '../../server/peers/nearby/nearby.ts';
import { MulticastSocket } from '../../server/peers/nearby/serviceDiscovery.ts';
import { createLog } from '../../server/runtime/log.ts';
import type { Store } from '../../server/store/store.ts';
import type { NearbyNode } from '../../shared/node/peer.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { eventually } from '../support/eventually.ts';
import { share } from '../support/network/sharing.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { requireNetwork } from '../support/requirements.ts';
import { addPeer, keyOf } from './support.ts';

const GROUP = '224.0.0.251';
const SERVICE = '_strongroom._tcp.local';
const ADDRESS = '127.0.0.1';

/** Another program on the same network, which sees every packet. */
let other: Socket;
let seen: Packet[] = [];
let port = 0;

beforeEach(async () => {
  other = createSocket({ type: 'udp4', reuseAddr: true });
  other.bind({ port: 0, exclusive: false });
  await once(other, 'listening');
  ({ port } = other.address() as AddressInfo);
  other.addMembership(GROUP, ADDRESS);
  other.setMulticastInterface(ADDRESS);
  seen = [];
  other.on('message', (bytes) => seen.push(...packetIn(bytes)));
});

afterEach(async () => {
  await closeTestNodes();
  other.close();
});

/** Decodes a packet; none if it cannot be decoded, because this file sends such packets too. */
function packetIn(bytes: Buffer): Packet[] {
  try {
    return [decode(bytes)];
  } catch {
    return [];
  }
}

function openOnNetwork(tls = false): Promise<TestNode> {
  return openTestNode({ host: '0.0.0.0', tls, discovery: { port, addresses: [ADDRESS] } });
}

async function nearby(node: TestNode): Promise<NearbyNode[]> {
  const answer = await node.fetchAsOwner('/manage/peers/nearby');
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { items: NearbyNode[] }).items;
}

/** What nodes say of themselves; queries say nothing. */
function said(): Answer[] {
  return seen.flatMap(({ type, answers = [] }) => (type === 'response' ? answers : []));
}

function send(packet: Packet | Buffer): void {
  other.send(Buffer.isBuffer(packet) ? packet : encode(packet), port, GROUP);
}

test('a node is found by another one while it is shared, and added from the list', async () => {
  const [node, shared] = [await openOnNetwork(), await openOnNetwork()];
  expect(await nearby(node)).toEqual([]);
  expect(said()).toEqual([]);
  await share(shared, 'read');
  const key = await keyOf(shared);
  const url = `http://${ADDRESS}:${new URL(shared.url).port}`;
  const name = key.split('+')[0];
  const [found, foundByItself] = await Promise.all([nearby(node), nearby(shared)]);
  expect(found).toEqual([{ name, url, key, tls_fingerprint: null, peer: null }]);
  expect(foundByItself).toEqual([]);
  const peer = await addPeer(node, found[0]?.url ?? '');
  expect(await nearby(node)).toMatchObject([{ key, peer: peer.id }]);
  await share(shared, 'off');
  expect(await nearby(node)).toEqual([]);
});

test('the announcement has the certificate, is withdrawn when sharing ends, and has no secret', async () => {
  const shared = await openOnNetwork(true);
  await share(shared, 'contribute', true);
  await eventually(() => expect(said().length).toBeGreaterThan(0));
  const node = await openOnNetwork();
  expect(await nearby(node)).toMatchObject([
    {
      url: `https://${ADDRESS}:${new URL(shared.tls?.url ?? '').port}`,
      tls_fingerprint: shared.tls?.fingerprint,
    },
  ]);
  const announced = said().find(({ type }) => type === 'TXT') as { data: Buffer[] };
  expect(announced.data.map((part) => part.toString().split('=', 1)[0])).toEqual(['txtvers', 'key', 'tls']);
  expect(JSON.stringify(seen)).not.toContain(shared.token.trim());
  await share(shared, 'off');
  await eventually(() =>
    expect(said().some((record) => record.type === 'PTR' && record.ttl === 0)).toBe(true),
  );
});

test('nothing is received or sent while nobody looks and nothing is shared', async () => {
  await openOnNetwork();
  send({ type: 'query', questions: [{ type: 'PTR', name: SERVICE }] });
  const asked = () => seen.filter(({ type }) => type === 'query').length;
  await eventually(() => expect(asked()).toBe(1));
  expect(said()).toEqual([]);
});

/** The records of a node, as a program may send them. */
function records(changes: { key?: string; address?: string; tls?: string; port?: number; name?: string }) {
  const name = `${changes.name ?? 'stranger'}.${SERVICE}`;
  const key = changes.key ?? `stranger+0a0b0c0d+${'A'.repeat(43)}=`;
  const data = [`key=${key}`, ...(changes.tls === undefined ? [] : [`tls=${changes.tls}`])];
  const answers: Answer[] = [
    { type: 'PTR', name: SERVICE, ttl: 120, data: name },
    { type: 'SRV', name, ttl: 120, data: { port: changes.port ?? 7717, target: 'stranger.local' } },
    { type: 'TXT', name, ttl: 120, data },
    { type: 'A', name: 'stranger.local', ttl: 120, data: changes.address ?? ADDRESS },
  ];
  return answers;
}

/** Looks while another program answers each question with packets. */
async function lookWhileAnswering(...packets: (Packet | Buffer)[]): Promise<NearbyNode[]> {
  const node = await openOnNetwork();
  other.on('message', (bytes) => {
    if (packetIn(bytes)[0]?.type === 'query') for (const packet of packets) send(packet);
  });
  return nearby(node);
}

test('answers that no node gives are ignored, and the rest is bounded', async () => {
  const response = (answers: Answer[]): Packet => ({ type: 'response', answers });
  const many = Array.from({ length: 40 }, (_, index) =>
    response(
      records({ name: `n${index}`, port: 1000 + index, key: `n${index}+0a0b0c0d+${'A'.repeat(43)}=` }),
    ),
  );
  const found = await lookWhileAnswering(
    Buffer.from('no packet'),
    Buffer.alloc(0),
    // A name that points to itself.
    Buffer.from('00008400000000010000000000c00cc00c', 'hex'),
    response(records({ address: '192.0.2.99' })),
    response(records({ key: 'no key' })),
    response(records({ key: `<script>+0a0b0c0d+${'A'.repeat(43)}=`, tls: 'x' })),
    response(records({}).slice(0, 2)),
    // Larger than a packet may be, and with more records.
    response([...records({ port: 999 }), { type: 'TXT', name: 'x', data: Buffer.alloc(9_000) as never }]),
    response([
      ...records({ port: 998 }),
      ...Array.from({ length: 260 }, () => ({ type: 'A' as const, name: 'x', data: ADDRESS })),
    ]),
    ...many,
  );
  expect(found).toHaveLength(8);
  expect(found.every(({ name, url }) => name.startsWith('n') && url.startsWith(`http://${ADDRESS}:10`))).toBe(
    true,
  );
});

test('other programs that ask for services get the records, and a known answer is not repeated', async () => {
  const shared = await openOnNetwork();
  await share(shared, 'read');
  await eventually(() => expect(said().length).toBeGreaterThanOrEqual(8));
  const instance = (said().find(({ type }) => type === 'PTR') as { data: string }).data;
  const ask = async (name: string, type: 'PTR' | 'SRV' | 'ANY', answers: Answer[] = []): Promise<Packet> => {
    const asker = createSocket('udp4').bind(0, ADDRESS);
    await once(asker, 'listening');
    asker.setMulticastInterface(ADDRESS);
    const answered = once(asker, 'message') as Promise<[Buffer]>;
    const question = { type: type as 'PTR', name };
    const repeat = setInterval(
      () => asker.send(encode({ type: 'query', id: 7, questions: [question], answers }), port, GROUP),
      50,
    );
    const [bytes] = await answered;
    clearInterval(repeat);
    asker.close();
    return decode(bytes);
  };
  expect(await ask('_services._dns-sd._udp.local', 'PTR')).toMatchObject({
    id: 7,
    answers: [{ data: SERVICE }],
  });
  expect(await ask(instance, 'SRV')).toMatchObject({
    answers: [{ data: { port: Number(new URL(shared.url).port) } }],
  });
  const known: Answer = { type: 'PTR', name: SERVICE, ttl: 120, data: instance };
  seen = [];
  send({ type: 'query', questions: [{ type: 'PTR', name: SERVICE }], answers: [known] });
  expect(await ask(SERVICE.toUpperCase(), 'PTR')).toMatchObject({ answers: [{ data: instance }] });
  expect(said()).toEqual([]);
});

test('a socket is closed although what it sent last cannot leave', async () => {
  const failures: unknown[] = [];
  const socket = await MulticastSocket.open(
    { address: ADDRESS, port },
    { receive: () => undefined, failed: (error) => failures.push(error) },
  );
  socket.send({ type: 'response', answers: Array(2_000).fill(records({})[0]) as Answer[] });
  await socket.close();
  expect(failures).toMatchObject([{ code: 'EMSGSIZE' }]);
});

test('a simple resolver that asks many questions gets no answer, so that a forged address gets no long one', async () => {
  const shared = await openOnNetwork();
  await share(shared, 'read');
  await eventually(() => expect(said().length).toBeGreaterThanOrEqual(8));
  const asker = createSocket('udp4').bind(0, ADDRESS);
  await once(asker, 'listening');
  asker.setMulticastInterface(ADDRESS);
  const answers: Packet[] = [];
  asker.on('message', (bytes) => answers.push(decode(bytes)));
  const ask = (id: number, count: number) =>
    asker.send(
      encode({
        type: 'query',
        id,
        questions: Array(count).fill({ type: 'PTR', name: SERVICE }) as Question[],
      }),
      port,
      GROUP,
    );
  ask(1, 100);
  await eventually(() => {
    ask(2, 1);
    expect(answers.length).toBeGreaterThan(0);
  });
  asker.close();
  expect(answers.map(({ id }) => id)).not.toContain(1);
});

const [elsewhere] = machineAddresses().filter(({ address }) => !address.includes(':'));

test('a question from another network is not answered', async ({ skip }) => {
  requireNetwork(elsewhere, skip);
  const shared = await openOnNetwork();
  await share(shared, 'read');
  await eventually(() => expect(said().length).toBeGreaterThanOrEqual(8));
  const askers = await Promise.all(
    [elsewhere?.address ?? '', ADDRESS].map(async (address) => {
      const asker = createSocket('udp4').bind(0, address);
      await once(asker, 'listening');
      const answers: Packet[] = [];
      asker.on('message', (bytes) => answers.push(decode(bytes)));
      return { asker, answers };
    }),
  );
  const question = encode({ type: 'query', id: 7, questions: [{ type: 'PTR', name: SERVICE }] });
  await eventually(() => {
    // To the node alone: a router carries this from anywhere.
    for (const { asker } of askers) asker.send(question, port, ADDRESS);
    expect(askers[1]?.answers.length).toBeGreaterThan(0);
  });
  for (const { asker } of askers) asker.close();
  expect(askers[0]?.answers).toEqual([]);
});

test('a node that is shared while it is closing announces nothing', async () => {
  const { verifierKey: ownKey } = cosignerFrom('late', generateKeyPairSync('ed25519').privateKey);
  const late = new Nearby({
    store: { clock: systemClock } as Store,
    log: createLog('silent'),
    ownKey,
    port,
    machineAddresses: () => [ADDRESS],
    reachedAt: () => ({ port: 7717, tlsFingerprint: undefined, addresses: [ADDRESS] }),
  });
  await late.close();
  late.announce();
  // The first packets would be there before this looks a second time.
  await nearby(await openOnNetwork());
  await late.withdraw();
  expect(said()).toEqual([]);
});
