import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import { closeTestNodes, openTestNode } from '../support/node.ts';

afterEach(closeTestNodes);

/** Sends bytes as they are; answers with the status and the code of the problem that comes back. */
async function told(url: string, bytes: string): Promise<unknown[]> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(bytes);
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
  expect(head).toContain('Content-Type: application/problem+json');
  const { status, code } = JSON.parse(body) as { status: number; code: string };
  expect(head.startsWith(`HTTP/1.1 ${status} `)).toBe(true);
  return [status, code];
}

test('what is no HTTP request, or has too long an address, is answered with a problem too', async () => {
  const { url } = await openTestNode();
  const host = `Host: ${new URL(url).host}\r\n`;
  expect(await told(url, 'GARBAGE\r\n\r\n')).toEqual([400, 'invalid_request']);
  const long = `GET /api/packs?q=${'a'.repeat(20_000)} HTTP/1.1\r\n${host}\r\n`;
  expect(await told(url, long)).toEqual([431, 'head_too_large']);
  const upload = `POST /api/packs HTTP/1.1\r\n${host}Content-Type: application/zip\r\nTransfer-Encoding: chunked\r\n\r\n`;
  expect(await told(url, `${upload}no size\r\n`)).toEqual([400, 'invalid_request']);
});

test('so is what comes after an answer on the same connection', async () => {
  const { url } = await openTestNode();
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(`GET /api/health HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  const [first] = (await once(socket, 'data')) as [Buffer];
  expect(first.toString()).toMatch(/^HTTP\/1\.1 200 /);
  socket.write('GARBAGE\r\n\r\n');
  const rest = await text(socket);
  expect(rest).toMatch(/^HTTP\/1\.1 400 /);
  expect(rest).toContain('"code":"invalid_request"');
});
