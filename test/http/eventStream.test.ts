import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { afterEach, expect, test } from 'vitest';
import { RowFeed } from '../../server/http/delivery/eventStream.ts';
import { newServer, startListening } from '../../server/http/security/listeners.ts';
import { createLog, type Log } from '../../server/runtime/log.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

/** A table with a stream of its rows. */
async function table(log: Log = createLog('silent')) {
  const rows: { id: number }[] = [];
  const listeners = new Set<() => void>();
  const reads: number[] = [];
  let failure: Error | undefined;
  const feed = new RowFeed({
    read: (after, limit) => {
      if (failure) throw failure;
      reads.push(after);
      return rows.slice(after, after + limit);
    },
    onCommit: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    log,
  });
  const app = express();
  app.setMaxListeners(0);
  app.get('/stream', (_request, response) => feed.open(response, 0));
  app.use((error: Error, _request: unknown, response: express.Response, _next: unknown) => {
    response.status(503).send(error.message);
  });
  const server = app.listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/stream`;
  const commit = () => {
    rows.push({ id: rows.length + 1 });
    for (const listener of listeners) listener();
  };
  return { url, commit, reads, fail: (error: Error) => void (failure = error) };
}

/** Opens the stream and returns a function that reads until a text has arrived, or until the end. */
async function open(url: string) {
  const response = await fetch(url);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  return async (wanted: string) => {
    while (!text.includes(wanted)) {
      const { done, value } = (await reader?.read()) ?? { done: true };
      if (done) throw new Error('The stream ended.');
      text += value;
    }
    return text;
  };
}

test('one query after a commit serves all readers', async () => {
  const { url, commit, reads } = await table();
  const readers = await Promise.all(Array.from({ length: 5 }, () => open(url)));
  reads.length = 0;
  commit();
  for (const until of readers) expect(await until('id: 1\n')).toContain('data: {"id":1}');
  expect(reads).toEqual([0]);
});

test('a reader is disconnected if its rows cannot be read, and the commit goes on', async () => {
  const errors: string[] = [];
  const log = { ...createLog('silent'), error: (_details: object, message: string) => errors.push(message) };
  const { url, commit, fail } = await table(log as Log);
  const until = await open(url);
  fail(new Error('disk I/O error'));
  commit();
  await expect(until('id: 1\n')).rejects.toThrow();
  expect(errors).toEqual(['The rows of an event stream could not be read.']);
});

test('at most 500 streams are open; the next is refused until one ends', async () => {
  const { url } = await table();
  const closing = new AbortController();
  const first = await fetch(url, { signal: closing.signal });
  const others = await Promise.all(Array.from({ length: 499 }, () => fetch(url)));
  expect(new Set([first, ...others].map(({ status }) => status))).toEqual(new Set([200]));
  const refused = await fetch(url);
  expect([refused.status, await refused.text()]).toEqual([503, expect.stringContaining('At most 500')]);
  closing.abort();
  await expect.poll(async () => (await fetch(url)).status).toBe(200);
});

test('a connection that cannot be accepted is logged and does not end the process', async () => {
  const errors: object[] = [];
  const log = { ...createLog('silent'), error: (details: object) => errors.push(details) };
  const server = await startListening(newServer(undefined), '127.0.0.1', 0, log as Log);
  servers.push(server);
  server.emit('error', new Error('accept ENOBUFS'));
  expect(errors).toMatchObject([{ error: { message: 'accept ENOBUFS' } }]);
});
