import { createHash } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { afterEach, expect, test } from 'vitest';
import { blobPath } from '../../../server/store/files.ts';
import { SAMPLE_FILES } from '../../support/archive/packFiles.ts';
import { problemOf, sha256Of, uploadNewPack } from '../../support/archive/packs.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../../support/node.ts';

afterEach(closeTestNodes);

async function published(files = SAMPLE_FILES): Promise<{ node: TestNode; path: string; bytes: Buffer }> {
  const node = await openTestNode();
  const { id } = await uploadNewPack(node, {}, files);
  const path = `/api/packs/${id}/file`;
  const bytes = Buffer.from(await (await node.fetch(path)).arrayBuffer());
  return { node, path, bytes };
}

const withRange = (range: string, more: Record<string, string> = {}) => ({
  headers: { Range: range, ...more },
});
const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());

test('a pack file has the digest of all its bytes, for GET, HEAD and ranges', async () => {
  const { node, path, bytes } = await published();
  const digest = `sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`;
  for (const init of [{}, { method: 'HEAD' }, withRange('bytes=5-9')]) {
    const { headers } = await node.fetch(path, init);
    expect(headers.get('Repr-Digest')).toBe(digest);
    expect(headers.get('Accept-Ranges')).toBe('bytes');
  }
});

test('every range of a pack file has the bytes of the whole', async () => {
  const { node, path, bytes } = await published();
  const step = Math.floor(bytes.length / 40);
  for (let start = 0; start < bytes.length; start += step) {
    const end = Math.min(start + 2 * step, bytes.length - 1);
    const response = await node.fetch(path, withRange(`bytes=${start}-${end}`));
    expect(response.status).toBe(206);
    expect(response.headers.get('Content-Range')).toBe(`bytes ${start}-${end}/${bytes.length}`);
    expect(response.headers.get('Content-Length')).toBe(String(end - start + 1));
    expect((await bytesOf(response)).equals(bytes.subarray(start, end + 1))).toBe(true);
  }
  const suffix = await node.fetch(path, withRange('bytes=-22'));
  expect(await bytesOf(suffix)).toEqual(bytes.subarray(-22));
});

test('several ranges are sent as multipart/byteranges', async () => {
  const { node, path, bytes } = await published();
  const response = await node.fetch(path, withRange('bytes=0-3,10-13'));
  expect(response.status).toBe(206);
  const boundary = sha256Of(bytes);
  expect(response.headers.get('Content-Type')).toBe(`multipart/byteranges; boundary=${boundary}`);
  const part = (start: number, end: number) =>
    Buffer.concat([
      Buffer.from(
        `--${boundary}\r\nContent-Type: application/zip\r\nContent-Range: bytes ${start}-${end}/${bytes.length}\r\n\r\n`,
      ),
      bytes.subarray(start, end + 1),
      Buffer.from('\r\n'),
    ]);
  const expected = Buffer.concat([part(0, 3), part(10, 13), Buffer.from(`--${boundary}--\r\n`)]);
  expect(response.headers.get('Content-Length')).toBe(String(expected.length));
  expect((await bytesOf(response)).equals(expected)).toBe(true);
});

test('If-Range decides whether a range is sent, and a range outside is 416', async () => {
  const { node, path, bytes } = await published();
  const etag = (await node.fetch(path, { method: 'HEAD' })).headers.get('ETag') ?? '';
  expect((await node.fetch(path, withRange('bytes=1-2', { 'If-Range': etag }))).status).toBe(206);
  for (const other of ['"other"', `W/${etag}`]) {
    const whole = await node.fetch(path, withRange('bytes=1-2', { 'If-Range': other }));
    expect(whole.status).toBe(200);
    expect(await bytesOf(whole)).toEqual(bytes);
  }
  const outside = await node.fetch(path, withRange(`bytes=${bytes.length}-`));
  expect(outside.headers.get('Content-Range')).toBe(`bytes */${bytes.length}`);
  expect(await problemOf(outside)).toMatchObject({ status: 416, code: 'range_not_satisfiable' });
  const malformed = await node.fetch(path, withRange('bytes=b-a'));
  expect(malformed.status).toBe(200);
});

test('no range with bytes of a damaged file is sent, and other ranges still are', async () => {
  const { node, path, bytes } = await published({ 'data.bin': 'x'.repeat(100_000), 'z.txt': 'last' });
  await writeFile(blobPath(node.dataFolder, sha256Of('x'.repeat(100_000))), 'y'.repeat(100_000));
  const middle = bytes.indexOf('xxxxxxxx');
  const damaged = withRange(`bytes=${middle}-${middle + 9}`);
  for (const init of [damaged, withRange(`bytes=0-0,${middle}-${middle}`), withRange('bytes=1-'), {}]) {
    const refused = node.fetch(path, init);
    expect(await problemOf(refused)).toMatchObject({ status: 500, code: 'blob_damaged' });
  }
  const end = await node.fetch(path, withRange('bytes=-300'));
  expect(end.status).toBe(206);
  expect((await bytesOf(end)).equals(bytes.subarray(-300))).toBe(true);
});

test('nothing of a pack is sent if a file was damaged before the pack file was first read', async () => {
  const node = await openTestNode();
  const { id } = await uploadNewPack(node, {}, { 'data.bin': 'x'.repeat(100_000) });
  await writeFile(blobPath(node.dataFolder, sha256Of('x'.repeat(100_000))), 'y'.repeat(100_000));
  for (const init of [withRange('bytes=0-0'), withRange('bytes=-22'), {}]) {
    const refused = node.fetch(`/api/packs/${id}/file`, init);
    expect(await problemOf(refused)).toMatchObject({ status: 500, code: 'blob_damaged' });
  }
});

test('a client with the current pack file gets 304, and nothing is read for it', async () => {
  const { node, path } = await published({ 'data.bin': 'x'.repeat(100_000) });
  const etag = (await node.fetch(path, { method: 'HEAD' })).headers.get('ETag') ?? '';
  const { dataFolder } = node;
  await node.close();
  const restarted = await openTestNode({ dataFolder });
  await rm(blobPath(dataFolder, sha256Of('x'.repeat(100_000))));
  const damaged = restarted.fetch(path, { method: 'HEAD' });
  const fresh = await restarted.fetch(path, { headers: { 'If-None-Match': etag } });
  expect(fresh.status).toBe(304);
  expect(fresh.headers.get('ETag')).toBe(etag);
  expect((await damaged).status).toBe(500);
});

test('pack files are sent at the same time without mixing them up', async () => {
  const { node, path, bytes } = await published({ 'data.bin': 'x'.repeat(1_000_000), 'z.txt': 'last' });
  const responses = await Promise.all(
    Array.from({ length: 8 }, async (_, index) => {
      const start = index * 100_000;
      const response = await node.fetch(path, withRange(`bytes=${start}-${start + 299_999}`));
      return (await bytesOf(response)).equals(bytes.subarray(start, start + 300_000));
    }),
  );
  expect(responses).toEqual(Array(8).fill(true));
});
