import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CollectingNode } from '../collection/support.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { gzippedByRecord, record, response } from '../support/warcFiles.ts';

let folder: string;

beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(closeTestNodes);

/** Writes a file and imports it; returns the output. */
async function imported(name: string, bytes: Buffer, ...more: string[]) {
  await writeFile(join(folder, name), bytes);
  const { code, stdout, stderr } = await runHere([
    'import',
    join(folder, name),
    '--data',
    join(folder, 'data'),
    '--json',
    ...more,
  ]);
  return { code, stderr, result: stdout === '' ? null : (JSON.parse(stdout) as Record<string, unknown>) };
}

const info = (block: string) => record({ type: 'warcinfo', contentType: 'application/warc-fields', block });

test('imports a WARC file under the given observer, with no node running', async () => {
  const file = gzippedByRecord([response('one'), response('x', { uri: 'dns:a' })]);
  expect(await imported('a.warc.gz', file, '--observer', 'The Archive')).toMatchObject({
    code: 0,
    result: {
      ok: true,
      kind: 'captures',
      observer: 'The Archive',
      captures: 1,
      events: [1],
      refused: [{ reason: 'not_http', count: 1 }],
    },
  });
  const node = new CollectingNode(await openTestNode({ dataFolder: join(folder, 'data') }));
  expect(await node.events()).toMatchObject([{ observer: 'The Archive', event_type: 'first_seen' }]);
  expect(await node.read('/api/ledger/verify')).toMatchObject({ ok: true });
});

test.each([
  ['the publisher that the file names', 'publisher: A Library\r\noperator: Me\r\n', 'A Library'],
  ['the operator that the file names', 'software: x\r\noperator: Me\r\n', 'Me'],
  ['the file’s name', 'software: x\r\nisPartOf: self\r\n', 'crawl-7'],
])('without --observer, the observer is %s', async (_what, block, observer) => {
  const { code, result } = await imported('crawl-7.warc', Buffer.concat([info(block), response('one')]));
  expect([code, result?.observer]).toEqual([0, observer]);
});

test('exits with 1 if the file is damaged, and keeps the captures before the damage', async () => {
  const file = Buffer.concat([response('one'), response('two', { date: '2020-02-01T00:00:00Z' })]);
  expect(await imported('a.warc', file.subarray(0, -30))).toMatchObject({
    code: 1,
    result: { ok: false, captures: 1, refused: [{ reason: 'damaged', count: 1 }] },
  });
});

test('refuses gzip of other content', async () => {
  expect(await imported('a.gz', gzippedByRecord([Buffer.from('hello')]))).toMatchObject({
    code: 1,
    result: { ok: false, code: 'invalid_capture' },
  });
});

const ARC = 'filedesc://a.arc 0.0.0.0 20200102030405 text/plain 76\n1 0 A\n';
test.each([
  ['a.warc.zst', zstdCompressSync(response('one')), 'compressed with Zstandard'],
  ['a.warc.zst', Buffer.from('5d2a4d180400000001020304', 'hex'), 'compressed with Zstandard'],
  ['a.arc', Buffer.from(ARC), 'an ARC file'],
  ['a.arc.gz', gzippedByRecord([Buffer.from(ARC)]), 'an ARC file'],
])('says what %s is and what to do with it', async (name, bytes, what) => {
  const { code, result } = await imported(name, bytes);
  expect([code, result?.sentence]).toEqual([1, expect.stringContaining(what)]);
});

test('refuses the node’s own name as observer', async () => {
  const { code, stderr } = await imported('a.warc', response('one'), '--observer', 'self');
  expect([code, stderr]).toEqual([2, expect.stringContaining('--observer')]);
});

test('imports a WARC file through the node that has the folder open', async () => {
  const node = new CollectingNode(await openTestNode({ dataFolder: join(folder, 'data') }));
  const block = 'publisher: A Library\r\n';
  const file = gzippedByRecord([info(block), response('one'), response('x', { uri: 'dns:a' })]);
  expect(await imported('a.warc.gz', file)).toMatchObject({
    code: 0,
    result: { ok: true, kind: 'captures', observer: 'A Library', captures: 1, events: [1] },
  });
  expect(await node.events()).toMatchObject([{ observer: 'A Library', event_type: 'first_seen' }]);
  const damaged = await imported('b.warc', Buffer.from('WARC/1.0\r\nno head\r\n'));
  expect([damaged.code, damaged.result?.ok]).toEqual([1, false]);
});
