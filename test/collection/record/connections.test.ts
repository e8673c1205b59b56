import { createHash, X509Certificate } from 'node:crypto';
import { isIPv6, type Socket } from 'node:net';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Event } from '../../../shared/collection/event.ts';
import type { ObjectMetadata, Retrieval } from '../../../shared/collection/retrieval.ts';
import { addPeer, expectVerified, mirror } from '../../peers/support.ts';
import { closeScriptedWebs, page, raw, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTlsSites, openTlsSite, type TlsSite } from '../../support/network/tlsSite.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../../support/node.ts';
import { runHere } from '../../support/runHere.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';
import { alter, problems } from './alteredArchive.ts';

/** Each retrieval keeps the connection over which it came. */

const NAME = 'gauges.test';
const ADDRESSES = ['127.0.0.1', '127.0.0.9'];
const trusted = getCACertificates('default');
let site: TlsSite;
let dataFolder: string;
let node: CollectingNode;

const network = {
  lookup: async () => ADDRESSES.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 })),
  // Far longer than by default, because a slow machine may need that long between two requests.
  keepAliveMs: 60_000,
};

beforeEach(async () => {
  site = await openTlsSite(NAME);
  setDefaultCACertificates([...trusted, site.authority]);
  dataFolder = join(await temporaryFolder(), 'data');
  node = await openCollectingNode({ per_host_concurrency: 1 }, { dataFolder, network });
});
afterEach(async () => {
  setDefaultCACertificates([...trusted]);
  await closeTestNodes();
  closeTlsSites();
  await closeScriptedWebs();
});

/** Watches a page of the site, checks it, and returns the retrieval. */
async function retrieved(path = '/page'): Promise<Retrieval> {
  const { id } = await node.watch(`https://${NAME}:${site.port}${path}`, { ignore_robots: true });
  await node.check([id]);
  const [retrieval] = await node.retrievals(id);
  if (!retrieval) throw new Error('There is no retrieval.');
  return retrieval;
}

function expectedConnection() {
  const certificates = site.chain.map((sha256) => ({ bytes: expect.any(Number) as number, sha256 }));
  return {
    address: '127.0.0.1',
    port: site.port,
    http: '1.1',
    dns: ADDRESSES,
    tls: { version: 'TLSv1.3', cipher: expect.stringMatching(/^TLS_/) as string, certificates },
  };
}

async function expectCertificates(of: TestNode): Promise<void> {
  for (const sha256 of site.chain) {
    const answer = await of.fetch(`/archive/${sha256}`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/pkix-cert']);
    const bytes = Buffer.from(await answer.arrayBuffer());
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
    expect(new X509Certificate(bytes).issuer).toBe('CN=Test authority');
  }
}

test('the address, the protocol, the DNS answer and the chain are kept', async () => {
  const { connection, error, sha256 } = await retrieved();
  expect([error, connection]).toEqual([null, expectedConnection()]);
  await expectCertificates(node.node);
  const metadata = await node.read<ObjectMetadata>(`/archive/${sha256}/metadata`);
  expect(metadata.retrievals.map((each) => each.connection)).toEqual([connection]);
  const [event] = await node.events();
  expect(await node.read<Retrieval>(`/api/events/${event?.id}/retrieval`)).toMatchObject({ connection });
  expect(await problems(dataFolder)).toEqual([]);
});

test('a connection that carries several responses is remembered, and its certificates are stored once', async () => {
  const sources = await Promise.all(
    ['/a', '/b'].map((path) => node.watch(`https://${NAME}:${site.port}${path}`, { ignore_robots: true })),
  );
  await node.check();
  const all = await Promise.all(sources.map(async ({ id }) => (await node.retrievals(id))[0]));
  expect(all.map((each) => each?.connection)).toEqual(sources.map(expectedConnection));
  expect(site.connections()).toBe(1);
  // Two pages and two certificates.
  const database = new Database(join(dataFolder, 'strongroom.db'), { readonly: true });
  expect(database.prepare('SELECT count(*) FROM blobs').pluck().get()).toBe(4);
  database.close();
  expect(await problems(dataFolder)).toEqual([]);
});

test('each redirect keeps its own connection', async () => {
  const { redirects, connection } = await retrieved('/moved');
  expect([connection, ...redirects.map((hop) => hop.connection)]).toEqual([
    expectedConnection(),
    expectedConnection(),
  ]);
  expect(await problems(dataFolder)).toEqual([]);
});

test('a connection without TLS to an IP address has no name and no certificate', async () => {
  const web = await ScriptedWeb.open();
  web.script('/new', page('new'));
  web.script('/old', raw('HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nold'));
  web.script('/pieces', (socket) => writeSlowly(socket, 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'));
  const known = { address: '127.0.0.1', port: web.port, dns: null, tls: null };
  for (const [path, http] of [
    ['/new', '1.1'],
    ['/old', '1.0'],
    ['/pieces', '1.1'],
  ] as const) {
    const { id } = await node.watch(web.url(path), { ignore_robots: true });
    await node.check([id]);
    expect((await node.retrievals(id))[0]).toMatchObject({ error: null, connection: { ...known, http } });
  }
});

/** Sends each byte alone. */
async function writeSlowly(socket: Socket, text: string): Promise<void> {
  for (const byte of text) {
    await new Promise((resolve) => socket.write(byte, resolve));
    await setImmediate();
  }
}

test('a server that never answers leaves no connection', async () => {
  setDefaultCACertificates([...trusted]);
  const retrieval = await retrieved();
  expect(retrieval.error).toBe('tls_error');
  expect(retrieval).not.toHaveProperty('connection');
  expect(await problems(dataFolder)).toEqual([]);
});

test('the ledger covers the connection', async () => {
  await retrieved();
  await node.node.close();
  alter(dataFolder, `UPDATE retrievals SET connection = replace(connection, '127.0.0.1', '127.0.0.2')`);
  expect((await problems(dataFolder)).map(({ subject }) => subject)).toEqual(['retrieval 1']);
});

test('a WARC export says the address, the protocol and the cipher', async () => {
  const { connection } = await retrieved('/moved');
  const answer = await node.node.fetch('/api/warc');
  const records = (await answer.text()).split(/^WARC\/1\.1\r\n/m);
  const responses = records.filter((record) => record.startsWith('WARC-Type: response'));
  expect(responses).toHaveLength(2);
  for (const record of responses) {
    expect(record).toContain('WARC-IP-Address: 127.0.0.1\r\n');
    expect(record).toContain('WARC-Protocol: http/1.1\r\nWARC-Protocol: tls/1.3\r\n');
    expect(record).toContain(`WARC-Cipher-Suite: ${connection?.tls?.cipher}\r\n`);
  }
  expect(records.at(-1)).toContain(`dns: ${ADDRESSES.join(', ')}\r\n`);
});

test('a dump, an export and a copy carry connections and certificates', async () => {
  await retrieved('/moved');
  const folder = await temporaryFolder();
  const dump = await (await node.node.fetch('/api/dump.jsonl')).text();
  expect(dump).toContain(site.chain[0]);
  const copy = await node.node.sendJson('POST', '/manage/copies', {
    target: `file://${join(folder, 'copy')}`,
  });
  const { id } = (await copy.json()) as { id: string };
  expect((await node.node.sendJson('POST', `/manage/copies/${id}/sync?wait=true`, {})).status).toBe(200);
  await node.node.close();
  const run = async (...args: string[]) => expect(await runHere(args)).toMatchObject({ code: 0, stderr: '' });
  await run('export', '--data', dataFolder, '--out', join(folder, 'all.zip'));
  await run('import', join(folder, 'all.zip'), '--data', join(folder, 'imported'));
  await run('verify', `file://${join(folder, 'copy')}`);
  await run('restore', join(folder, 'copy'), '--data', join(folder, 'restored'));
  for (const name of ['imported', 'restored']) {
    const other = await openTestNode({ dataFolder: join(folder, name) });
    const [event] = ((await (await other.fetch('/api/events')).json()) as { items: Event[] }).items;
    const found = (await (await other.fetch(`/api/events/${event?.id}/retrieval`)).json()) as Retrieval;
    expect(found).toMatchObject({
      connection: expectedConnection(),
      redirects: [{ connection: expectedConnection() }],
    });
    await expectCertificates(other);
    await expectVerified(other);
    await other.close();
  }
});

test('a mirror keeps how the peer had it', async () => {
  await retrieved('/moved');
  const mirroring = await openTestNode();
  const peer = await addPeer(mirroring, node.node.url);
  // The page and two certificates.
  expect(await mirror(mirroring, peer, { sources: true })).toMatchObject({
    events: 1,
    objects: 3,
    refused: [],
  });
  const found = (await (await mirroring.fetch('/api/events/1/retrieval')).json()) as Retrieval;
  expect(found).toMatchObject({ connection: expectedConnection(), observer: peer.name });
  await expectCertificates(mirroring);
  await expectVerified(mirroring);
});
