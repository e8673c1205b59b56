import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { ByteBudget } from '../../../server/browser/requestGate.ts';
import { decodeContent } from '../../../server/collection/fetch/contentCoding.ts';

const TEXT = Buffer.from('The text of a page. '.repeat(50));
const decode = (body: Buffer, encoding: string | null, most = 10_000) =>
  decodeContent(body, encoding, new ByteBudget(most));

test.each<[encoding: string | null, body: Buffer]>([
  [null, TEXT],
  ['identity', TEXT],
  ['gzip', gzipSync(TEXT)],
  ['X-GZIP', gzipSync(TEXT)],
  ['deflate', deflateSync(TEXT)],
  ['deflate', deflateRawSync(TEXT)],
  ['br', brotliCompressSync(TEXT)],
  ['zstd', zstdCompressSync(TEXT)],
  ['br, gzip', gzipSync(brotliCompressSync(TEXT))],
  ['gzip', Buffer.concat([gzipSync(TEXT.subarray(0, 100)), gzipSync(TEXT.subarray(100))])],
  // What follows the compressed data is no part of it.
  ['gzip', Buffer.concat([gzipSync(TEXT), Buffer.from('<!-- cached -->')])],
  ['gzip', Buffer.concat([gzipSync(TEXT), Buffer.alloc(20)])],
  ['deflate', Buffer.concat([deflateSync(TEXT), Buffer.from('<!-- cached -->')])],
  // Servers that name a coding and do not apply it, or name what is none.
  ['utf-8', TEXT],
  ['aws-chunked, gzip', TEXT],
  ['gzip', TEXT],
  ['zstd', TEXT],
])('a body with %s is decoded as browsers do', async (encoding, body) => {
  expect(await decode(body, encoding)).toEqual(TEXT);
});

test.each<[what: string, body: Buffer, encoding: string, most: number, isSpent: boolean]>([
  ['larger than what is left', gzipSync(Buffer.alloc(50_000)), 'gzip', 49_999, true],
  ['when nothing is left', gzipSync(TEXT), 'gzip', 0, true],
  ['damaged', Buffer.concat([gzipSync(TEXT).subarray(0, 10), TEXT]), 'gzip', 10_000, false],
  ['coded again and again', gzipSync(TEXT), 'gzip,'.repeat(1_000), 10_000, false],
])('a body %s is not given to a page', async (_what, body, encoding, most, isSpent) => {
  const budget = new ByteBudget(most);
  expect(await decodeContent(body, encoding, budget)).toBe(null);
  expect(budget.isSpent).toBe(isSpent);
});

test.each([
  ['gzip', gzipSync(TEXT)],
  ['deflate', deflateSync(TEXT)],
])('a body with %s that breaks off is decoded as far as it came', async (encoding, body) => {
  const decoded = (await decode(body.subarray(0, -9), encoding))?.toString();
  expect(decoded?.length).toBeGreaterThan(0);
  expect(TEXT.toString().startsWith(decoded ?? '-')).toBe(true);
});

test('bodies are decoded one after the other, each within what those before it left', async () => {
  const budget = new ByteBudget(100_000);
  const bomb = gzipSync(Buffer.alloc(60_000));
  const decoded = await Promise.all([1, 2, 3].map(() => decodeContent(bomb, 'gzip', budget)));
  expect(decoded.map((body) => body?.length)).toEqual([60_000, undefined, undefined]);
});
