import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { RefusedRecordError } from '../../server/peers/mirror/mirrorTally.ts';
import { coveredPages, RemoteLog } from '../../server/peers/mirror/remoteLog.ts';
import { MAX_CONNECTIONS, PeerClient, PeerError } from '../../server/peers/peerClient.ts';

const closing: { close: () => void }[] = [];
afterEach(() => {
  for (const each of closing.splice(0)) each.close();
});

async function serve(answer: RequestListener): Promise<Server> {
  const server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push({
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  });
  return server;
}

/** A client whose time only ends when the test says so. */
function clientOf(server: { address: () => unknown }, scheme = 'http') {
  const running = new Set<() => void>();
  const timer = (_ms: number, over: () => void) => {
    running.add(over);
    return () => void running.delete(over);
  };
  const url = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new PeerClient({ url, tls_fingerprint: null }, { timer });
  closing.push(client);
  const endTimes = () => {
    for (const over of Array.from(running)) over();
  };
  return { client, running, endTimes };
}

async function readAll(client: PeerClient, path: string): Promise<Buffer> {
  return client.bytes(path, 1_000_000);
}

test('the time of a request begins when it has a connection, not when it waits for one', async () => {
  const held: (() => void)[] = [];
  let arrived: () => void = () => {};
  const server = await serve((_request, response) => {
    held.push(() => response.end('here'));
    if (held.length === MAX_CONNECTIONS) arrived();
  });
  const { client, running } = clientOf(server);
  const full = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const reading = Array.from({ length: 2 * MAX_CONNECTIONS }, (_, number) => readAll(client, `/${number}`));
  await full;
  // Half of them wait for a connection, and no time runs for these.
  expect(running.size).toBe(MAX_CONNECTIONS);
  for (const answer of held.splice(0)) answer();
  await Promise.all(reading.slice(0, MAX_CONNECTIONS));
  while (held.length < MAX_CONNECTIONS) await new Promise((resolve) => setImmediate(resolve));
  for (const answer of held.splice(0)) answer();
  expect(await Promise.all(reading)).toHaveLength(2 * MAX_CONNECTIONS);
  expect(running.size).toBe(0);
});

test('a request that waits for a connection ends with the work', async () => {
  const server = await serve(() => undefined);
  const cancelling = new AbortController();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new PeerClient({ url, tls_fingerprint: null }, { signal: cancelling.signal });
  closing.push(client);
  const reading = Array.from({ length: MAX_CONNECTIONS + 3 }, () => readAll(client, '/'));
  const outcomes = Promise.allSettled(reading);
  cancelling.abort(new Error('The work was cancelled.'));
  for (const outcome of await outcomes)
    expect(outcome).toMatchObject({ status: 'rejected', reason: { message: 'The work was cancelled.' } });
});

for (const [what, answer, kind, message] of [
  [
    'is cut',
    (_, response) => {
      response.writeHead(200, { 'Content-Length': 10 });
      response.write('five5', () => response.destroy());
    },
    'failing',
    /broke off its response/,
  ],
  [
    'is reset',
    (_, response) => {
      response.writeHead(200);
      response.write('five5', () => response.socket?.resetAndDestroy());
    },
    'failing',
    /broke off its response/,
  ],
  [
    'has a chunk that is none',
    (_, response) => {
      response.writeHead(200, { 'Transfer-Encoding': 'chunked' });
      response.write('five5', () => response.socket?.end('not a chunk\r\n'));
    },
    'failing',
    /broke off its response/,
  ],
] as [string, RequestListener, string, RegExp][])
  test(`a body that ${what} in the middle is an error of the peer, in words`, async () => {
    const { client } = clientOf(await serve(answer));
    const error = await readAll(client, '/').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PeerError);
    expect(error).toMatchObject({ kind, message: expect.stringMatching(message) as string });
  });

test('a body that stalls in the middle is too slow', async () => {
  let begun: () => void = () => {};
  const beginning = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const { client, endTimes } = clientOf(
    await serve((_, response) => {
      response.writeHead(200);
      response.write('five5');
    }),
  );
  const read = async () => {
    for await (const _ of client.stream('/')) begun();
  };
  const reading = read().catch((thrown: unknown) => thrown);
  await beginning;
  endTimes();
  endTimes();
  expect(await reading).toMatchObject({ name: 'PeerError', kind: 'stalled' });
});

test('a connection that ends before it is encrypted is an error of the peer', async () => {
  const server = createTcpServer((socket) => socket.end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(server);
  const { client } = clientOf(server, 'https');
  const error = await readAll(client, '/').catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: 'PeerError', kind: 'failing' });
});

const log = { size: 100 } as RemoteLog;
const signal = new AbortController().signal;

test('a list is read to its end, whatever the peer adds meanwhile, and an endless one ends', async () => {
  interface Item {
    entry: number;
  }
  const entry = (item: Item) => item.entry;
  const lists = {
    // 101 items that are newer than the checkpoint come before those that it covers.
    newest: Array.from({ length: 201 }, (_, at) => ({ entry: 201 - at })),
    oldest: Array.from({ length: 201 }, (_, at) => ({ entry: at + 1 })),
    none: Array.from({ length: 201 }, (_, at) => ({ entry: ((at * 37) % 201) + 1 })),
  };
  for (const order of ['newest', 'oldest', 'none'] as const) {
    const read = async (from: number) => {
      const items = lists[order].slice(from, from + 50);
      return { items, next: items.length < 50 ? null : from + 50 };
    };
    const found: number[] = [];
    const list = { read, first: 0, order, place: entry, entry, after: 10 };
    for await (const items of coveredPages({ log, signal }, list)) found.push(...items.map(entry));
    const wanted = order === 'oldest' ? lists.oldest.slice(10, 100).map(entry) : undefined;
    expect(
      found.toSorted((left, right) => left - right),
      order,
    ).toEqual(wanted ?? Array.from({ length: 90 }, (_, at) => at + 11));
  }
  let asked = 0;
  const same = async () => {
    asked += 1;
    return { items: [{ entry: 5 }], next: asked };
  };
  const repeating = { read: same, first: 0, order: 'none' as const, place: entry, entry };
  for await (const _ of coveredPages({ log, signal }, repeating));
  expect(asked).toBe(2);
  for (const items of [[], Array.from({ length: 1_000 })]) {
    const endless = async (from: number) => ({
      items: items.map((_, at) => ({ entry: 1e9 + from * 1_000 + at })),
      next: from + 1,
    });
    const list = { read: endless, first: 0, order: 'none' as const, place: entry, entry };
    const reading = async () => {
      for await (const _ of coveredPages({ log, signal }, list));
    };
    await expect(reading()).rejects.toThrow('does not end');
  }
});

test('the tiles of a peer that are kept are bounded by their bytes', async () => {
  const asked: string[] = [];
  // 256 leaves of 60 kB each.
  const leaf = Buffer.alloc(60_002, 'x');
  leaf.writeUInt16BE(60_000);
  const large = Buffer.concat(Array.from({ length: 256 }, () => leaf));
  const small = Buffer.alloc(256 * 32);
  const client = {
    bytes: async (path: string) => {
      asked.push(path);
      return path.includes('entries') ? large : small;
    },
  };
  const checkpoint = { size: 256 * 4, root: Buffer.alloc(32), origin: 'o', note: '', key: '' };
  const remote = new RemoteLog(client as never, checkpoint as never);
  const read = (tile: number) => expect(remote.entry(tile * 256 + 1)).rejects.toThrow(RefusedRecordError);
  const times = (tile: number) => asked.filter((path) => path.endsWith(`entries/00${tile}`)).length;
  await read(0);
  await read(0);
  expect(times(0)).toBe(1);
  for (const tile of [1, 2, 0]) await read(tile);
  expect(times(0)).toBe(2);
});
