import { once } from 'node:events';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import express from 'express';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { compressText, sendJsonWithEtag } from '../../server/http/delivery/text.ts';
import type { Pack } from '../../shared/archive/pack.ts';
import { SAMPLE_FILES } from '../support/archive/packFiles.ts';
import { uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';

let node: TestNode;
let packs: string[];
beforeEach(async () => {
  node = await openTestNode();
  packs = [];
  for (const title of ['One', 'Two', 'Three']) {
    packs.push((await uploadNewPack(node, { title }, { ...SAMPLE_FILES, [title]: title })).id);
  }
});
afterEach(closeTestNodes);

interface Answer {
  status: number | undefined;
  headers: IncomingHttpHeaders;
  /** As it was sent; `fetch` would decode it. */
  body: Buffer;
}

function ask(path: string, accept?: string, more: Record<string, string> = {}): Promise<Answer> {
  const headers = { ...(accept === undefined ? {} : { 'Accept-Encoding': accept }), ...more };
  return new Promise((resolve, reject) => {
    const sent = httpRequest(node.url + path, { headers, agent: false }, (response) => {
      buffer(response).then(
        (body) => resolve({ status: response.statusCode, headers: response.headers, body }),
        reject,
      );
    });
    sent.on('error', reject).end();
  });
}

test.each(['/api/packs', '/api/openapi.json', '/api/docs'])('%s is compressed if asked', async (path) => {
  const plain = await ask(path, undefined);
  expect(plain.headers['content-encoding']).toBeUndefined();
  expect(plain.headers.vary).toMatch(/Accept-Encoding/i);
  const zipped = await ask(path, 'gzip');
  expect(zipped.headers['content-encoding']).toBe('gzip');
  expect(gunzipSync(zipped.body).equals(plain.body)).toBe(true);
  const brotli = await ask(path, 'gzip, deflate, br');
  expect(brotli.headers['content-encoding']).toBe('br');
  expect(brotliDecompressSync(brotli.body).equals(plain.body)).toBe(true);
  expect(brotli.headers.vary).toMatch(/Accept-Encoding/i);
  expect(brotli.body.length).toBeLessThan(plain.body.length / 2);
  expect((await ask(path, 'gzip;q=0, identity')).headers['content-encoding']).toBeUndefined();
});

test('the entity tag of a compressed answer is weak, and still validates', async () => {
  const app = express();
  const text = 'text '.repeat(1_000);
  app.use(compressText(), async (request, response) => {
    const reply = sendJsonWithEtag(request, text);
    if ('write' in reply) await reply.write(response);
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const askServer = (headers: Record<string, string>) => fetch(`http://127.0.0.1:${port}/`, { headers });
  const plain = (await askServer({ 'Accept-Encoding': 'identity' })).headers.get('ETag') ?? '';
  const compressed = (await askServer({ 'Accept-Encoding': 'br' })).headers.get('ETag') ?? '';
  expect(plain).toMatch(/^"/);
  expect(compressed).toBe(`W/${plain}`);
  for (const etag of [plain, compressed]) {
    const again = await askServer({ 'Accept-Encoding': 'br', 'If-None-Match': etag });
    expect(again.status).toBe(304);
    expect(again.headers.get('Vary')).toBe('Accept-Encoding');
  }
  server.close();
});

test('bytes with a digest, small answers and streams are never compressed', async () => {
  const pack = (await (await node.fetch(`/api/packs/${packs[0]}`)).json()) as Pack;
  const sha256 = pack.files[0]?.sha256;
  for (const path of [
    `/api/packs/${packs[0]}/file`,
    `/api/blobs/${sha256}`,
    '/api/health',
    '/api/dump.jsonl',
  ]) {
    const answer = await ask(path, 'gzip, br');
    expect(answer.headers['content-encoding'], path).toBeUndefined();
  }
});

test('answers to signed-in clients are never compressed (BREACH)', async () => {
  expect((await ask('/api/packs', 'br')).headers['content-encoding']).toBe('br');
  for (const [name, value] of [
    ['Cookie', 'a=b'],
    ['Authorization', `Bearer ${node.token}`],
  ] as const) {
    const answer = await ask('/api/packs', 'br', { [name]: value });
    expect(answer.headers['content-encoding']).toBeUndefined();
  }
});

test('HEAD does not give the length of the uncompressed answer', async () => {
  const head = await node.fetch('/api/packs', { method: 'HEAD', headers: { 'Accept-Encoding': 'br' } });
  expect(head.headers.get('Content-Length')).toBeNull();
  expect(head.headers.get('Vary')).toMatch(/Accept-Encoding/i);
});
