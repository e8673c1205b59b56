import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { CaptureResult } from '../../../shared/collection/captures.ts';
import { DEFAULT_SETTINGS } from '../../../shared/node/settings.ts';
import { closeTestNodes } from '../../support/node.ts';
import { gzippedByRecord, http, record, response, sha1, sha256 } from '../../support/warcFiles.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';
import { growthOfImports, imported, sendFile } from './support.ts';

let node: CollectingNode;
/** Each test has one of its own, whose captures are apart from those of other tests. */
let observer: string;
let observers = 0;

beforeAll(async () => {
  node = await openCollectingNode();
});
beforeEach(() => {
  observers += 1;
  observer = `Archive ${observers}`;
});
afterEach(async () => {
  expect(await readdir(join(node.node.dataFolder, 'tmp'))).toEqual([]);
});
afterAll(closeTestNodes);

const day = (number: number, body: string) => response(body, { date: `2020-01-0${number}T00:00:00Z` });
const records = [day(1, 'first '.repeat(200)), day(2, 'second '.repeat(200)), day(3, 'third '.repeat(200))];

/** Flips one bit of the byte at an offset. */
function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 0x10;
  return copy;
}

describe('imports the intact captures of a damaged WARC file and reports the damage:', () => {
  const plain = Buffer.concat(records);
  const compressed = gzippedByRecord(records);
  const [one = plain, two = plain] = records;
  const third = gzippedByRecord(records.slice(0, 2)).length;
  test.each<[string, Buffer, number]>([
    ['cut within the third block', plain.subarray(0, plain.length - 100), 2],
    ['cut within the third record’s fields', plain.subarray(0, one.length + two.length + 60), 2],
    ['compressed, cut within the third record', compressed.subarray(0, compressed.length - 40), 2],
    ['compressed, cut within the second record', compressed.subarray(0, gzipSync(one).length + 30), 1],
    ['compressed, with a corrupt third record', flipped(compressed, third + 30), 2],
    [
      'compressed, with a third record that is not gzip data',
      Buffer.concat([compressed.subarray(0, third), Buffer.from('x'.repeat(50))]),
      2,
    ],
    ['compressed, with a wrong checksum', flipped(compressed, compressed.length - 7), 2],
    ['compressed as one stream, cut', gzipSync(plain).subarray(0, -20), 2],
    [
      'with a wrong length',
      Buffer.concat([one, record({ block: http('x'), fields: { 'Content-Length': '3' } })]),
      1,
    ],
    [
      'with no length',
      Buffer.concat([one, record({ block: http('x'), fields: { 'Content-Length': null } })]),
      1,
    ],
    [
      'with fields of 10 MB',
      Buffer.concat([one, record({ fields: { 'X-Long': 'x'.repeat(10_000_000) } }), two]),
      1,
    ],
  ])('%s', async (_how, file, kept) => {
    const result = await imported(node, file, { observer });
    expect(result.captures).toBe(kept);
    expect(result.refused).toContainEqual({ reason: 'damaged', count: 1 });
    expect(await node.events(`observer=${observer}`)).toHaveLength(kept);
  });

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['text', Buffer.from('This is no WARC file.\r\n\r\nNot at all.')],
    ['gzip of text', gzipSync('This is no WARC file.')],
    ['a cut gzip header', Buffer.from([0x1f, 0x8b, 8])],
  ])('refuses %s', async (_what, file) => {
    const answer = await sendFile(node, file);
    expect([answer.status, await answer.json()]).toEqual([
      422,
      expect.objectContaining({ code: 'invalid_capture' }),
    ]);
  });
});

describe('refuses single captures with a reason and imports the others', () => {
  const { max_object_mb, data_cap_gb } = DEFAULT_SETTINGS;
  afterEach(() => node.set({ max_object_mb, data_cap_gb }));

  const good = day(1, 'good');
  // Made before there is a node, which would close its connection meanwhile.
  const bomb = gzippedByRecord([response(Buffer.alloc(300_000_000)), good]);
  const chunks = { 'Transfer-Encoding': 'chunked', 'Content-Type': 'text/plain' };
  test.each<[CaptureResult['refused'][number]['reason'], string, Buffer]>([
    ['not_http', 'a DNS address', response('x', { uri: 'dns:example.com' })],
    ['not_http', 'a name', response('x', { uri: 'urn:uuid:1' })],
    ['not_http', 'a script', response('x', { uri: 'javascript:alert(1)' })],
    ['malformed_url', 'a relative address', response('x', { uri: 'example' })],
    ['credentials_in_url', 'a password in the address', response('x', { uri: 'http://a:b@example.com/' })],
    ['malformed_date', 'no date', record({ fields: { 'WARC-Date': null }, block: http('x') })],
    ['malformed_date', 'a date without a time', response('x', { date: '2020-01-01' })],
    ['malformed_date', 'a day that is not in the calendar', response('x', { date: '2020-02-31T00:00:00Z' })],
    ['truncated', 'a truncated record', response('x', { fields: { 'WARC-Truncated': 'length' } })],
    [
      'truncated',
      'a body shorter than its stated length',
      record({ block: http('x', { headers: { 'Content-Length': '2' } }) }),
    ],
    ['truncated', 'chunks without the last', record({ block: http('1\r\nx\r\n', { headers: chunks }) })],
    ['malformed_http', 'broken chunks', record({ block: http('1\r\nx\r\nzz\r\n', { headers: chunks }) })],
    ['segmented', 'a segment', response('x', { fields: { 'WARC-Segment-Number': '1' } })],
    ['malformed_http', 'no HTTP', record({ block: 'hello' })],
    [
      'malformed_http',
      'a head of 10 MB',
      record({ block: http('x', { headers: { 'X-Long': 'x'.repeat(10_000_000) } }) }),
    ],
    [
      'unsupported_encoding',
      'an unsupported transfer coding',
      record({ block: http('x', { headers: { 'Transfer-Encoding': 'gzip, chunked' } }) }),
    ],
    [
      'digest_mismatch',
      'a wrong payload digest',
      response('x', { fields: { 'WARC-Payload-Digest': sha1('y') } }),
    ],
    [
      'digest_mismatch',
      'a wrong block digest',
      response('x', { fields: { 'WARC-Block-Digest': `sha256:${sha256('y')}` } }),
    ],
    [
      'digest_mismatch',
      'a digest of the wrong length',
      response('x', { fields: { 'WARC-Payload-Digest': 'sha1:ABC' } }),
    ],
    ['too_large', 'a payload above the limit', response('x'.repeat(1_500_000))],
    [
      'unresolved_revisit',
      'a revisit of an unknown capture',
      record({
        type: 'revisit',
        fields: {
          'WARC-Profile': 'http://netpreserve.org/warc/1.1/revisit/identical-payload-digest',
          'WARC-Refers-To': '<urn:uuid:none>',
        },
      }),
    ],
  ])('%s: %s', async (reason, _what, refused) => {
    await node.set({ max_object_mb: 1 });
    const result = await imported(node, gzippedByRecord([refused, good]), { observer });
    expect(result).toMatchObject({ captures: 1, refused: [{ reason, count: 1 }] });
  });

  test('verifies digests in every form, except those of an unknown algorithm', async () => {
    const forms = [`sha256:${sha256('x')}`, sha1('x'), 'md5:9dd4e461268c8034f5c8564e155c67a6', 'blake3:00'];
    const responses = forms.map((form, index) =>
      response('x', { date: `2020-02-0${index + 1}T00:00:00Z`, fields: { 'WARC-Payload-Digest': form } }),
    );
    expect(await imported(node, Buffer.concat(responses), { observer })).toMatchObject({
      captures: 4,
      refused: [],
    });
  });

  test('refuses a small record that decompresses to 300 MB, with constant memory use', async () => {
    expect(await imported(node, bomb, { observer })).toMatchObject({
      captures: 1,
      refused: [{ reason: 'too_large', count: 1 }],
    });
    expect(Math.max(...(await growthOfImports([bomb])))).toBeLessThan(200_000_000);
  });

  test('refuses the response to a method other than GET', async () => {
    const request = record({
      type: 'request',
      id: '<urn:uuid:post>',
      contentType: 'application/http; msgtype=request',
      block: 'POST / HTTP/1.1\r\n\r\n',
    });
    const answer = day(2, 'answered')
      .toString('latin1')
      .replace('\r\n', '\r\nWARC-Concurrent-To: <urn:uuid:post>\r\n');
    const result = await imported(node, Buffer.concat([Buffer.from(answer, 'latin1'), request, good]), {
      observer,
    });
    expect(result).toMatchObject({ captures: 1, refused: [{ reason: 'not_get', count: 1 }] });
  });

  test('refuses new objects without disk space, but imports captures of objects already held', async () => {
    await imported(node, good, { observer });
    await node.set({ data_cap_gb: 0 });
    const again = response('good', { date: '2020-05-01T00:00:00Z' });
    expect(await imported(node, Buffer.concat([day(2, 'new'), again]), { observer })).toMatchObject({
      captures: 1,
      refused: [{ reason: 'no_room', count: 1 }],
    });
  });
});

test.each([
  ['no observer', '', 'application/warc', 400, 'invalid_parameter'],
  ['an empty observer', '?observer=', 'application/warc', 400, 'invalid_parameter'],
  ['the node itself as the observer', '?observer=self', 'application/warc', 400, 'invalid_parameter'],
  [
    'an observer of 101 characters',
    `?observer=${'x'.repeat(101)}`,
    'application/warc',
    400,
    'invalid_parameter',
  ],
  ['an unknown parameter', '?observer=A&x=1', 'application/warc', 400, 'unknown_parameter'],
  ['another content type', '?observer=A', 'text/plain', 415, 'unsupported_media_type'],
])('refuses a request with %s', async (_what, query, type, status, code) => {
  const answer = await node.node.fetchAsOwner(`/manage/captures${query}`, {
    method: 'POST',
    body: new Uint8Array(records[0] as Buffer),
    headers: { 'Content-Type': type },
  });
  expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([status, code]);
});
