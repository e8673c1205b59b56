import { truncate, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { uploadNewPack } from '../../support/archive/packs.ts';
import { type RawResponse, rawRequest } from '../../support/network/rawRequest.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../../support/node.ts';

/*
 * Blobs and objects are served without Express, but a URL with an empty query uses the ordinary route. Both must give the
 * same response to every request.
 */

let node: TestNode;
let address: string;
beforeAll(async () => {
  node = await openTestNode();
  const pack = await uploadNewPack(node, {}, { 'a.txt': 'the bytes of a file' });
  address = `/api/blobs/${pack.files[0]?.sha256}`;
});
afterAll(closeTestNodes);

async function share(mode: string): Promise<void> {
  const answer = await node.sendJson('PUT', '/manage/sharing', { mode, require_invitation: false });
  expect(answer.status).toBe(200);
}

/** Returns the response without its Date header. */
async function answerOf(path: string, method: string, headers: Record<string, string>): Promise<RawResponse> {
  const answer = await rawRequest(node.url + path, { method, headers });
  const { date: _date, ...said } = answer.headers;
  return { ...answer, headers: said };
}

const REQUESTS: Record<string, string>[] = [
  {},
  { Range: 'bytes=0-3' },
  { Range: 'bytes=0-0,5-9' },
  { Range: 'bytes=9000-' },
  { 'If-None-Match': '*' },
  { 'If-Match': '"other"' },
  { Host: 'evil.example' },
  { 'Sec-Fetch-Site': 'cross-site', Origin: 'http://elsewhere.example' },
  { 'Sec-Fetch-Site': 'same-origin' },
  { Authorization: 'Bearer wrong' },
  { Authorization: 'Bearer invitation-unknown' },
  { Cookie: 'strongroom-node=wrong; other' },
];

async function expectSameBothWays(path: string): Promise<number[]> {
  const statuses = new Set<number>();
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST']) {
    for (const headers of REQUESTS) {
      const direct = await answerOf(path, method, headers);
      const ordinary = await answerOf(`${path}?`, method, headers);
      expect(direct, `${method} ${JSON.stringify(headers)}`).toEqual(ordinary);
      statuses.add(direct.status);
    }
  }
  return [...statuses].sort((left, right) => left - right);
}

test('a private node gives the same responses both ways, including refusals', async () => {
  expect(await expectSameBothWays(address)).toEqual([200, 204, 206, 304, 401, 403, 405, 412, 416, 421]);
});

test.each(['read', 'contribute'])('a node shared to %s gives the same responses both ways', async (mode) => {
  await share(mode);
  expect(await expectSameBothWays(address)).toEqual([200, 204, 206, 304, 401, 403, 405, 412, 416, 421]);
  await share('off');
});

test('missing and damaged bytes give the same responses both ways', async () => {
  const pack = await uploadNewPack(node, { title: 'Damaged' }, { lost: 'soon lost', cut: 'soon cut short' });
  const [cut = '', lost = ''] = pack.files.map(({ sha256 }) => sha256);
  const fileOf = (sha256: string) =>
    join(node.dataFolder, 'blobs', sha256.slice(0, 2), sha256.slice(2, 4), sha256);
  await unlink(fileOf(lost));
  await truncate(fileOf(cut), 3);
  for (const path of [`/api/blobs/${lost}`, `/api/blobs/${cut}`]) {
    // The first request that finds damage records it, and gets another message.
    expect(await answerOf(path, 'GET', {})).toMatchObject({ status: 500 });
    expect(await answerOf(path, 'GET', {})).toEqual(await answerOf(`${path}?`, 'GET', {}));
    expect(await answerOf(path, 'GET', {})).toMatchObject({ status: 500 });
  }
  for (const path of [`/api/blobs/${'0'.repeat(64)}`, `/archive/${lost}`, '/api/blobs/x']) {
    expect(await answerOf(path, 'GET', {})).toEqual(await answerOf(`${path}?`, 'GET', {}));
  }
});
