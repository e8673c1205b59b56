import type { Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { Connections } from '../../../server/collection/fetch/connections.ts';
import { type Answer, exchange } from '../../../server/collection/fetch/exchange.ts';
import { closeTestNodes } from '../../support/node.ts';
import { closeScriptedWebs, ScriptedWeb, type Step } from '../../support/scriptedWeb.ts';
import { openCollectingNode } from '../support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

/** A web that keeps its connections open, and the connections over which it was asked. */
async function openKeepingWeb() {
  const web = await ScriptedWeb.open();
  const sockets: Socket[] = [];
  const seen =
    (answer: (socket: Socket) => void): Step =>
    (socket) => {
      sockets.push(socket);
      answer(socket);
    };
  const kept = (body: string, head = 'HTTP/1.1 200 OK') =>
    seen((socket) => {
      socket.write(`${head}\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    });
  return { web, sockets, seen, kept };
}

async function textOf({ body }: Answer): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function asking(connections: Connections, isAllowed = true) {
  return {
    headers: {},
    mayConnect: () => isAllowed,
    lookup: async () => [],
    signal: new AbortController().signal,
    connections,
  };
}

test('the pages of a site come over one connection', async () => {
  const { web, sockets, kept } = await openKeepingWeb();
  for (const path of ['/a', '/b', '/c']) web.script(path, kept(path));
  const node = await openCollectingNode({ per_host_concurrency: 1 });
  for (const path of ['/a', '/b', '/c']) await node.watch(web.url(path), { ignore_robots: true });
  expect(await node.check()).toMatchObject({ changed: 3, failed: 0 });
  expect(sockets).toHaveLength(3);
  expect(new Set(sockets).size).toBe(1);
});

test('a connection that is closed when it is used again is no failure of the page', async () => {
  const { web, sockets, seen, kept } = await openKeepingWeb();
  web.script('/a', kept('a'));
  web.script(
    '/b',
    seen((socket) => socket.resetAndDestroy()),
    kept('b'),
  );
  const connections = new Connections();
  const ask = (path: string) => exchange({ ...asking(connections), url: new URL(web.url(path)) }, textOf);
  expect(await ask('/a')).toBe('a');
  expect(await ask('/b')).toBe('b');
  expect(sockets).toHaveLength(3);
  await connections.close();
});

test('a page that is reset over a new connection too is a failure', async () => {
  const { web, seen, kept } = await openKeepingWeb();
  web.script('/a', kept('a'));
  web.script(
    '/b',
    seen((socket) => socket.resetAndDestroy()),
  );
  const connections = new Connections();
  const ask = (path: string) => exchange({ ...asking(connections), url: new URL(web.url(path)) }, textOf);
  await ask('/a');
  await expect(ask('/b')).rejects.toMatchObject({ word: 'connection_reset' });
  expect(web.requests('/b')).toHaveLength(2);
  await connections.close();
});

test('a kept connection serves nobody who may not speak with its address', async () => {
  const { web, kept } = await openKeepingWeb();
  web.script('/a', kept('a'));
  const connections = new Connections();
  const url = new URL(web.url('/a'));
  expect(await exchange({ ...asking(connections), url }, textOf)).toBe('a');
  await expect(exchange({ ...asking(connections, false), url }, textOf)).rejects.toMatchObject({
    word: 'redirect_refused',
  });
  expect(web.requests('/a')).toHaveLength(1);
  await connections.close();
});

test.each([
  ['whose body nobody read', 'HTTP/1.1 200 OK', async () => 'unread', 2],
  ['of 304, which has no body', 'HTTP/1.1 304 Not Modified', async () => 'unread', 1],
])(
  'the connection of an answer %s is used again only where nothing of it is left',
  async (_what, head, read, connectionsUsed) => {
    const { web, sockets, kept } = await openKeepingWeb();
    web.script('/a', kept(head.includes('304') ? '' : 'a', head));
    const connections = new Connections();
    const url = new URL(web.url('/a'));
    await exchange({ ...asking(connections), url }, read);
    await exchange({ ...asking(connections), url }, read);
    expect(new Set(sockets).size).toBe(connectionsUsed);
    await connections.close();
  },
);
