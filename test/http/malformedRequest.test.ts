import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import { closeTestNodes, openTestNode } from '../support/node.ts';

afterEach(closeTestNodes);

/** Sends raw bytes. Returns the status and the code of the problem in the response. */
async function sendRaw(url: string, bytes: string): Promise<unknown[]> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(bytes);
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
  expect(head).toContain('Content-Type: application/problem+json');
  const { status, code } = JSON.parse(body) as { status: number; code: string };
  expect(head.startsWith(`HTTP/1.1 ${status} `)).toBe(true);
  return [status, code];
}

test('a malformed request, or one with a too long URL, gets a problem', async () => {
  const { url } = await openTestNode();
  const host = `Host: ${new URL(url).host}\r\n`;
  expect(await sendRaw(url, 'GARBAGE\r\n\r\n')).toEqual([400, 'invalid_request']);
  const long = `GET /api/packs?q=${'a'.repeat(20_000)} HTTP/1.1\r\n${host}\r\n`;
  expect(await sendRaw(url, long)).toEqual([431, 'head_too_large']);
  const upload = `POST /api/packs HTTP/1.1\r\n${host}Content-Type: application/zip\r\nTransfer-Encoding: chunked\r\n\r\n`;
  expect(await sendRaw(url, `${upload}no size\r\n`)).toEqual([400, 'invalid_request']);
});

test('so does one that follows a response on the same connection', async () => {
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

describe('the host of a request (contract-2, section 7; RFC 9112, section 3.2)', () => {
  test.each([
    ['two Host headers', 'GET /api/health HTTP/1.1', ['Host: HERE', 'Host: evil.example']],
    ['two equal Host headers', 'GET /api/health HTTP/1.1', ['Host: HERE', 'host: HERE']],
    ['no Host', 'GET /api/health HTTP/1.1', []],
    ['no Host in HTTP/1.0', 'GET /api/health HTTP/1.0', []],
    ['another host in the request line', 'GET http://evil.example/api/health HTTP/1.1', ['Host: HERE']],
    ['another host in both places', 'GET http://evil.example/api/health HTTP/1.1', ['Host: evil.example']],
    ['another port in the request line', 'GET http://127.0.0.1:1/api/health HTTP/1.1', ['Host: HERE']],
    [
      'two Host headers on the blob fast path',
      `GET /archive/${'0'.repeat(64)} HTTP/1.1`,
      ['Host: HERE', 'Host: x'],
    ],
    ['an invalid request target', 'GET api/health HTTP/1.1', ['Host: HERE']],
  ])('%s: 400 invalid_request', async (_what, line, headers) => {
    const { url } = await openTestNode();
    const head = [line, ...headers, 'Connection: close', '', ''].join('\r\n');
    expect(await sendRaw(url, head.replaceAll('HERE', new URL(url).host))).toEqual([400, 'invalid_request']);
  });

  test('accepts the node’s own URL in the request line, as sent to a proxy, like a path', async () => {
    const { url } = await openTestNode();
    const { hostname, port, host } = new URL(url);
    for (const path of ['/api/health', '/api/packs?limit=1']) {
      const socket = connect(Number(port), hostname);
      socket.write(`GET http://${host}${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      expect(await text(socket), path).toMatch(/^HTTP\/1\.1 200 /);
    }
  });
});
