import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Pack } from '../../../shared/archive/pack.ts';
import { problemOf, uploadNewPack } from '../../support/archive/packs.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../../support/node.ts';

const HTML = '<script>alert(document.domain)</script>';
const LARGE = Buffer.alloc(700_000, 'strongroom ');

let node: TestNode;
let pack: Pack;
beforeAll(async () => {
  node = await openTestNode();
  pack = await uploadNewPack(node, {}, { 'page.html': HTML, 'z.bin': LARGE });
});
afterAll(closeTestNodes);

const addressOf = (index: number) => `/api/blobs/${pack.files[index]?.sha256}`;

test('a blob is sent for download only, so that browsers never show or run it', async () => {
  const response = await node.fetch(addressOf(0));
  expect(response.status).toBe(200);
  expect(await response.text()).toBe(HTML);
  const { sha256 } = pack.files[0] as { sha256: string };
  expect(Object.fromEntries(response.headers)).toMatchObject({
    etag: `"${sha256}"`,
    'repr-digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
    'cache-control': 'public, max-age=31536000, immutable',
    'content-type': 'application/octet-stream',
    'content-disposition': 'attachment',
    'content-security-policy': "sandbox; default-src 'none'",
    'x-content-type-options': 'nosniff',
    'last-modified': new Date(Math.floor(Date.parse(pack.evidence.received_at) / 1000) * 1000).toUTCString(),
  });
});

test('ranges of a large blob add up to the blob, and a cached copy gets 304', async () => {
  const pieces: Buffer[] = [];
  for (let start = 0; start < LARGE.length; start += 300_000) {
    const response = await node.fetch(addressOf(1), {
      headers: { Range: `bytes=${start}-${start + 299_999}` },
    });
    expect(response.status).toBe(206);
    pieces.push(Buffer.from(await response.arrayBuffer()));
  }
  expect(Buffer.concat(pieces).equals(LARGE)).toBe(true);
  const etag = `"${pack.files[1]?.sha256}"`;
  expect((await node.fetch(addressOf(1), { headers: { 'If-None-Match': etag } })).status).toBe(304);
});

test.each(['abc', 'A'.repeat(64), `${'0'.repeat(63)}g`, '0'.repeat(65), '..%2F..%2Fkey'])(
  '%s is not a digest: 400 invalid_digest',
  async (digest) => {
    expect(await problemOf(node.fetch(`/api/blobs/${digest}`))).toMatchObject({
      status: 400,
      code: 'invalid_digest',
    });
  },
);

test('an unknown digest is 404', async () => {
  expect(await problemOf(node.fetch(`/api/blobs/${'0'.repeat(64)}`))).toMatchObject({
    status: 404,
    code: 'not_found',
  });
});

test('a blob whose file is missing is a 500-class problem, and the node keeps working', async () => {
  const { sha256 } = await uploadNewPack(node, { title: 'Lost' }, { lost: 'soon lost' }).then(
    ({ files }) => files[0] as { sha256: string },
  );
  await unlink(join(node.dataFolder, 'blobs', sha256.slice(0, 2), sha256.slice(2, 4), sha256));
  expect(await problemOf(node.fetch(`/api/blobs/${sha256}`))).toMatchObject({
    status: 500,
    code: 'blob_damaged',
  });
  expect((await node.fetch(addressOf(0))).status).toBe(200);
});
