import type { Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { exchange, type HttpResponse } from '../../../server/collection/fetch/exchange.ts';
import { ConnectionPool } from '../../../server/collection/fetch/httpConnection.ts';
import { closeScriptedWebs, ScriptedWeb, type Step } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { openCollectingNode } from '../support.ts';

/** Far longer than by default, because a slow machine may need that long between two requests. */
const KEEP_ALIVE_MS = 60_000;

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

/** Opens a web server that keeps its connections open. `sockets` has the connection of each request. */
async function openKeepAliveWeb() {
  const web = await ScriptedWeb.open();
  const sockets: Socket[] = [];
  const seen =
    (respond: (socket: Socket) => void): Step =>
    (socket) => {
      sockets.push(socket);
      respond(socket);
    };
  const keepAlive = (body: string, head = 'HTTP/1.1 200 OK') =>
    seen((socket) => {
      socket.write(`${head}\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    });
  return { web, sockets, seen, keepAlive };
}

async function textOf({ body }: HttpResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function request(connections: ConnectionPool, isAllowed = true) {
  return {
    headers: {},
    mayConnect: () => isAllowed,
    lookup: async () => [],
    signal: new AbortController().signal,
    connections,
  };
}

test('the pages of a site are fetched over one connection', async () => {
  const { web, sockets, keepAlive } = await openKeepAliveWeb();
  for (const path of ['/a', '/b', '/c']) web.script(path, keepAlive(path));
  const node = await openCollectingNode(
    { per_host_concurrency: 1 },
    { network: { keepAliveMs: KEEP_ALIVE_MS } },
  );
  for (const path of ['/a', '/b', '/c']) await node.watch(web.url(path), { ignore_robots: true });
  expect(await node.check()).toMatchObject({ changed: 3, failed: 0 });
  expect(sockets).toHaveLength(3);
  expect(new Set(sockets).size).toBe(1);
});

test('a reused connection that the server closes is replaced by a new one', async () => {
  const { web, sockets, seen, keepAlive } = await openKeepAliveWeb();
  web.script('/a', keepAlive('a'));
  web.script(
    '/b',
    seen((socket) => socket.resetAndDestroy()),
    keepAlive('b'),
  );
  const connections = new ConnectionPool(KEEP_ALIVE_MS);
  const get = (path: string) => exchange({ ...request(connections), url: new URL(web.url(path)) }, textOf);
  expect(await get('/a')).toBe('a');
  expect(await get('/b')).toBe('b');
  expect(sockets).toHaveLength(3);
  connections.close();
});

test('a request that is reset over a new connection too fails', async () => {
  const { web, seen, keepAlive } = await openKeepAliveWeb();
  web.script('/a', keepAlive('a'));
  web.script(
    '/b',
    seen((socket) => socket.resetAndDestroy()),
  );
  const connections = new ConnectionPool(KEEP_ALIVE_MS);
  const get = (path: string) => exchange({ ...request(connections), url: new URL(web.url(path)) }, textOf);
  await get('/a');
  await expect(get('/b')).rejects.toMatchObject({ reason: 'connection_reset' });
  expect(web.requests('/b')).toHaveLength(2);
  connections.close();
});

test('an idle connection is not used by a request that may not connect to its address', async () => {
  const { web, keepAlive } = await openKeepAliveWeb();
  web.script('/a', keepAlive('a'));
  const connections = new ConnectionPool(KEEP_ALIVE_MS);
  const url = new URL(web.url('/a'));
  expect(await exchange({ ...request(connections), url }, textOf)).toBe('a');
  await expect(exchange({ ...request(connections, false), url }, textOf)).rejects.toMatchObject({
    reason: 'redirect_refused',
  });
  expect(web.requests('/a')).toHaveLength(1);
  connections.close();
});

test.each([
  ['is not reused after a response with an unread body', 'HTTP/1.1 200 OK', async () => 'unread', 2],
  ['is reused after a 304, which has no body', 'HTTP/1.1 304 Not Modified', async () => 'unread', 1],
])('a connection %s', async (_what, head, read, connectionsUsed) => {
  const { web, sockets, keepAlive } = await openKeepAliveWeb();
  web.script('/a', keepAlive(head.includes('304') ? '' : 'a', head));
  const connections = new ConnectionPool(KEEP_ALIVE_MS);
  const url = new URL(web.url('/a'));
  await exchange({ ...request(connections), url }, read);
  await exchange({ ...request(connections), url }, read);
  expect(new Set(sockets).size).toBe(connectionsUsed);
  connections.close();
});
