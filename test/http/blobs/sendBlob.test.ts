import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { truncate, unlink, writeFile } from 'node:fs/promises';
import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import express from 'express';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { prepareBlob, type SentBlob, sendBlob } from '../../../server/http/delivery/blobs.ts';
import { handleErrors } from '../../../server/http/problems.ts';
import { createLog } from '../../../server/runtime/log.ts';
import { closeTestNodes, temporaryFolder } from '../../support/node.ts';

const STORED_AT = '2026-11-20T10:14:21.592Z';
const CONTENT_TYPE = 'text/plain;charset=ISO-8859-1';

let server: Server;
let base: string;
let blobs: Map<string, SentBlob>;

/** Serves every stored blob under `/<name>` with sendBlob only, without the rest of the node. */
beforeEach(async () => {
  blobs = new Map();
  const app = express();
  app.disable('etag');
  app.get('/:name', (request, response) =>
    sendBlob(
      request,
      response,
      prepareBlob({
        blob: blobs.get(request.params.name) as SentBlob,
        options: { contentType: CONTENT_TYPE, disposition: 'attachment' },
      }),
    ),
  );
  app.use(handleErrors(createLog('silent')));
  server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await closeTestNodes();
});

async function store(name: string, bytes: Buffer): Promise<SentBlob> {
  const file = join(await temporaryFolder(), name);
  await writeFile(file, bytes);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const blob = { file, sha256, bytes: bytes.length, storedAt: STORED_AT };
  blobs.set(name, blob);
  return blob;
}

/** Returns bytes without repetitions, so that a wrong offset is detected. */
function patterned(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let index = 0; index + 4 <= length; index += 4) bytes.writeUInt32BE(index, index);
  return bytes;
}

const SMALL = patterned(1_000);
const LARGE = patterned(1_500_000);

async function bytesOf(response: Response): Promise<Buffer> {
  return Buffer.from(await response.arrayBuffer());
}

describe.each([
  ['small, sent with one read', SMALL],
  ['large, sent as a stream', LARGE],
])('a blob that is %s', (_name, content) => {
  let blob: SentBlob;
  beforeEach(async () => {
    blob = await store('blob', content);
  });
  const ask = (headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`${base}/blob`, { method, headers });

  test('is sent with its digest as entity tag, cacheable forever, with unchanged type', async () => {
    const response = await ask();
    expect(response.status).toBe(200);
    expect((await bytesOf(response)).equals(content)).toBe(true);
    const digest = createHash('sha256').update(content).digest('base64');
    expect(Object.fromEntries(response.headers)).toMatchObject({
      etag: `"${blob.sha256}"`,
      'repr-digest': `sha-256=:${digest}:`,
      'cache-control': 'public, max-age=31536000, immutable',
      'accept-ranges': 'bytes',
      'x-content-type-options': 'nosniff',
      'content-disposition': 'attachment',
      'content-length': String(content.length),
      'content-type': CONTENT_TYPE,
      'last-modified': 'Fri, 20 Nov 2026 10:14:21 GMT',
    });
  });

  test('HEAD has the same headers and no body', async () => {
    const response = await ask({}, 'HEAD');
    expect(response.status).toBe(200);
    expect(response.headers.get('content-length')).toBe(String(content.length));
    expect(response.headers.get('etag')).toBe(`"${blob.sha256}"`);
    expect((await bytesOf(response)).length).toBe(0);
  });

  test('HEAD ignores Range, which is only defined for GET', async () => {
    expect((await ask({ Range: 'bytes=0-1' }, 'HEAD')).status).toBe(200);
  });

  test.each([
    ['bytes=0-0', 0, 0],
    ['bytes=10-99', 10, 99],
    ['bytes=900-', 900, -1],
    ['bytes=-7', -7, -1],
    ['bytes=-99999999', 0, -1],
    ['bytes=5-99999999', 5, -1],
  ])('one range %s is 206 with exactly those bytes', async (range, from, to) => {
    const start = from < 0 ? content.length + from : from;
    const end = to < 0 ? content.length - 1 : to;
    const response = await ask({ Range: range });
    expect(response.status).toBe(206);
    expect(response.headers.get('content-range')).toBe(`bytes ${start}-${end}/${content.length}`);
    expect((await bytesOf(response)).equals(content.subarray(start, end + 1))).toBe(true);
  });

  test('several ranges are one multipart/byteranges response with a Content-Length', async () => {
    const wanted: [number, number][] = [
      [0, 0],
      [1, 9],
      [content.length - 600, content.length - 1],
    ];
    const response = await ask({ Range: 'bytes=0-0, 1-9, -600' });
    expect(response.status).toBe(206);
    const type = response.headers.get('content-type') ?? '';
    expect(type).toMatch(/^multipart\/byteranges; boundary=/);
    const body = await bytesOf(response);
    expect(response.headers.get('content-length')).toBe(String(body.length));
    const boundary = type.split('boundary=')[1];
    const parts = body
      .toString('latin1')
      .split(`--${boundary}`)
      .slice(1, -1)
      .map((part) => part.slice(2, -2).split('\r\n\r\n', 2));
    expect(parts.map(([head]) => head)).toEqual(
      wanted.map(
        ([start, end]) =>
          `Content-Type: ${CONTENT_TYPE}\r\nContent-Range: bytes ${start}-${end}/${content.length}`,
      ),
    );
    expect(body.toString('latin1').endsWith(`\r\n--${boundary}--\r\n`)).toBe(true);
    const [, , last] = parts;
    expect(last?.[1]).toBe(content.subarray(-600).toString('latin1'));
  });

  test('overlapping ranges are merged, and very many ranges return all bytes', async () => {
    const overlapping = await ask({ Range: 'bytes=0-,0-,0-,1-' });
    expect(overlapping.status).toBe(206);
    expect((await bytesOf(overlapping)).length).toBe(content.length);
    const many = await ask({
      Range: `bytes=${Array.from({ length: 200 }, (_, i) => `${i}-${i}`).join(',')}`,
    });
    expect(many.status).toBe(200);
    await many.body?.cancel();
  });

  test.each(['bytes=99999999-', 'bytes=-0', 'bytes=99999999-99999999999'])(
    'a range outside the bytes, %s, is 416 with their number',
    async (range) => {
      const response = await ask({ Range: range });
      expect(response.status).toBe(416);
      expect(response.headers.get('content-range')).toBe(`bytes */${content.length}`);
      expect(await response.json()).toMatchObject({ code: 'range_not_satisfiable' });
    },
  );

  test.each(['bytes=x-y', 'bytes', 'lines=1-2', 'bytes=1'])(
    'a meaningless range, %s, is ignored',
    async (range) => {
      const response = await ask({ Range: range });
      expect(response.status).toBe(200);
      expect((await bytesOf(response)).length).toBe(content.length);
    },
  );

  test('If-None-Match and If-Modified-Since return 304 without a body', async () => {
    const conditions: Record<string, string>[] = [
      { 'If-None-Match': `"${blob.sha256}"` },
      { 'If-None-Match': `"other", W/"${blob.sha256}"` },
      { 'If-None-Match': '*' },
      { 'If-Modified-Since': 'Fri, 20 Nov 2026 10:14:21 GMT' },
    ];
    for (const headers of conditions) {
      const response = await ask(headers);
      expect(response.status).toBe(304);
      expect(response.headers.get('etag')).toBe(`"${blob.sha256}"`);
      expect((await bytesOf(response)).length).toBe(0);
    }
    const other = { 'If-None-Match': '"other"', 'If-Modified-Since': 'Fri, 20 Nov 2026 10:14:21 GMT' };
    expect((await ask(other)).status).toBe(200);
  });

  test('If-Range returns the range only if it matches exactly', async () => {
    const statusFor = async (ifRange: string) => {
      const response = await ask({ Range: 'bytes=0-9', 'If-Range': ifRange });
      await response.body?.cancel();
      return response.status;
    };
    expect(await statusFor(`"${blob.sha256}"`)).toBe(206);
    expect(await statusFor('Fri, 20 Nov 2026 10:14:21 GMT')).toBe(206);
    expect(await statusFor(`W/"${blob.sha256}"`)).toBe(200);
    expect(await statusFor('"other"')).toBe(200);
    expect(await statusFor('Fri, 20 Nov 2026 10:14:22 GMT')).toBe(200);
  });

  test('If-Match for another object is 412', async () => {
    expect((await ask({ 'If-Match': '"other"' })).status).toBe(412);
    expect((await ask({ 'If-Match': `"${blob.sha256}"` })).status).toBe(200);
  });

  test('an object whose file is missing or truncated is a 500-class problem that reveals no path', async () => {
    await truncate(blob.file, content.length - 1);
    const cut = await ask();
    expect(cut.status).toBe(500);
    expect(await cut.json()).toMatchObject({ code: 'blob_damaged' });
    await unlink(blob.file);
    const missing = await ask();
    expect(missing.status).toBe(500);
    const text = await missing.text();
    expect(JSON.parse(text)).toMatchObject({ code: 'blob_damaged' });
    expect(text).not.toContain('strongroom-test-');
    expect((await ask({}, 'HEAD')).status).toBe(500);
  });
});

test('an empty blob is sent, and every range of it is unsatisfiable', async () => {
  await store('empty', Buffer.alloc(0));
  const response = await fetch(`${base}/empty`);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-length')).toBe('0');
  const range = await fetch(`${base}/empty`, { headers: { Range: 'bytes=0-' } });
  expect(range.status).toBe(416);
  expect(range.headers.get('content-range')).toBe('bytes */0');
});

test('closes the connection if bytes vanish during the transfer, so that no client takes a part for the whole', async () => {
  const blob = await store('vanishing', patterned(64_000_000));
  const [response] = (await once(get(`${base}/vanishing`), 'response')) as [IncomingMessage];
  await once(response, 'readable');
  await truncate(blob.file, 1_000_000);
  const ended = new Promise<string>((resolve) => {
    response.on('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)));
    response.on('end', () => resolve('ended'));
  });
  response.resume();
  expect(await ended).toBe('ECONNRESET');
});
