import { execFile } from 'node:child_process';
import { open, readdir, writeFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sampleRecord } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';

const run = promisify(execFile);

const UPLOAD_BYTES = 60_000_000;
const BOUNDARY = 'boundary';
const HEAD = [
  `--${BOUNDARY}`,
  'Content-Disposition: form-data; name="record"',
  '',
  JSON.stringify(sampleRecord()),
  `--${BOUNDARY}`,
  'Content-Disposition: form-data; name="files"; filename="large.bin"',
  '',
  '',
].join('\r\n');
const TAIL = `\r\n--${BOUNDARY}--\r\n`;

let node: TestNode;
beforeAll(async () => {
  node = await openTestNode();
});
afterAll(closeTestNodes);

/** Sends 60 MB with back-pressure, and reads the response only after sending everything. */
function upload(
  headers: Record<string, string | number>,
  owner = true,
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(new URL('/api/packs', node.url), {
      method: 'POST',
      agent: false,
      headers: {
        'Content-Type': `multipart/form-data; boundary=${BOUNDARY}`,
        ...(owner ? { Authorization: `Bearer ${node.token}` } : {}),
        ...headers,
      },
    });
    const answered = new Promise<IncomingMessage>((resolve) => request.on('response', resolve));
    request.on('error', reject);
    const chunk = Buffer.alloc(1_000_000, 'x');
    const sendAll = async () => {
      request.write(HEAD);
      for (let sent = 0; sent < UPLOAD_BYTES; sent += chunk.length) {
        await new Promise<void>((written, failed) =>
          request.write(chunk, (error) => (error ? failed(error) : written())),
        );
      }
      request.end(TAIL);
      const response = await answered;
      resolve({ status: response.statusCode ?? 0, body: await text(response) });
    };
    sendAll().catch(reject);
  });
}

const length = HEAD.length + UPLOAD_BYTES + TAIL.length;

describe('a refusal reaches a client that is still sending 60 MB', () => {
  test('too large, detected during the upload', async () => {
    const { status, body } = await upload({ 'Transfer-Encoding': 'chunked' });
    expect({ status, ...(JSON.parse(body) as object) }).toMatchObject({
      status: 413,
      code: 'pack_too_large',
    });
  });

  test('too large, according to its announced length', async () => {
    const { status, body } = await upload({ 'Content-Length': length });
    expect({ status, ...(JSON.parse(body) as object) }).toMatchObject({
      status: 413,
      code: 'pack_too_large',
    });
  });

  test('not the owner, detected before anything is read', async () => {
    const { status, body } = await upload({ 'Content-Length': length }, false);
    expect({ status, ...(JSON.parse(body) as object) }).toMatchObject({
      status: 401,
      code: 'owner_required',
    });
  });

  test('curl', async () => {
    const folder = await temporaryFolder();
    const large = join(folder, 'large.bin');
    const file = await open(large, 'w');
    await file.truncate(UPLOAD_BYTES);
    await file.close();
    const record = join(folder, 'record.json');
    await writeFile(record, JSON.stringify(sampleRecord()));
    const { stdout } = await run('curl', [
      '--silent',
      '--show-error',
      '--write-out',
      '\n%{http_code}',
      '--header',
      `Authorization: Bearer ${node.token}`,
      '--form',
      `record=<${record}`,
      '--form',
      `files=@${large};filename=large.bin`,
      `${node.url}/api/packs`,
    ]);
    const [body = '', status] = stdout.split('\n');
    expect(status).toBe('413');
    expect(JSON.parse(body)).toMatchObject({ code: 'pack_too_large' });
  });
});

test('none of them leaves anything behind', async () => {
  expect(await readdir(join(node.dataFolder, 'tmp'))).toEqual([]);
  expect(await (await node.fetch('/api/ledger?limit=1')).json()).toMatchObject({ total: 0 });
});

test('a refused client that stops sending without disconnecting gets its response at once', async () => {
  const socket = connect(Number(new URL(node.url).port), '127.0.0.1');
  const answer = new Promise<string>((resolve) =>
    socket.once('data', (chunk: Buffer) => resolve(chunk.toString())),
  );
  const { host } = new URL(node.url);
  socket.write(
    `POST /api/packs HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${node.token}\r\n` +
      `Content-Type: multipart/form-data; boundary=${BOUNDARY}\r\nTransfer-Encoding: chunked\r\n\r\n`,
  );
  const part = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="wrong"; filename="a"\r\n\r\nx`;
  socket.write(`${part.length.toString(16)}\r\n${part}\r\n`);
  const [head = '', body = ''] = (await answer).split('\r\n\r\n');
  expect(head).toMatch(/^HTTP\/1\.1 422 /);
  expect(head).toMatch(/^Connection: close/im);
  expect(JSON.parse(body)).toMatchObject({ code: 'unknown_field' });
  socket.destroy();
});

test('a refused small body does not close the connection', async () => {
  const response = await node.fetch('/api/nodes', {
    method: 'POST',
    body: JSON.stringify({ path: 'a', title: 'A' }),
    headers: { 'Content-Type': 'application/json' },
  });
  expect(response.status).toBe(401);
  expect(response.headers.get('Connection')).not.toBe('close');
});
