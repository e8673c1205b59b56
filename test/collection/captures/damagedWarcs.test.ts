import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CaptureResult } from '../../../shared/captures.ts';
import { closeTestNodes } from '../../support/node.ts';
import { gzippedByRecord, http, record, response, sha1, sha256 } from '../../support/warcFiles.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';
import { imported, sendFile } from './support.ts';

let node: CollectingNode;

beforeEach(async () => {
  node = await openCollectingNode();
});
afterEach(async () => {
  expect(await readdir(join(node.node.dataFolder, 'tmp'))).toEqual([]);
  await closeTestNodes();
});

const day = (number: number, body: string) => response(body, { date: `2020-01-0${number}T00:00:00Z` });
const whole = [day(1, 'first '.repeat(200)), day(2, 'second '.repeat(200)), day(3, 'third '.repeat(200))];

/** Flips one bit of the byte at a place. */
function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 0x10;
  return copy;
}

describe('a file of captures that is cut or corrupt keeps what was whole before, and names the damage', () => {
  const plain = Buffer.concat(whole);
  const packed = gzippedByRecord(whole);
  const [one = plain, two = plain] = whole;
  const third = gzippedByRecord(whole.slice(0, 2)).length;
  test.each<[string, Buffer, number]>([
    ['cut within the third block', plain.subarray(0, plain.length - 100), 2],
    ['cut within the third record’s fields', plain.subarray(0, one.length + two.length + 60), 2],
    ['packed, cut within the third record', packed.subarray(0, packed.length - 40), 2],
    ['packed, cut within the second record', packed.subarray(0, gzipSync(one).length + 30), 1],
    ['packed, with a corrupt third record', flipped(packed, third + 30), 2],
    [
      'packed, with a third record that is no gzip data',
      Buffer.concat([packed.subarray(0, third), Buffer.from('x'.repeat(50))]),
      2,
    ],
    ['packed, with a checksum that does not hold', flipped(packed, packed.length - 7), 2],
    ['packed as one stream, cut', gzipSync(plain).subarray(0, -20), 2],
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
    const result = await imported(node, file);
    expect(result.captures).toBe(kept);
    expect(result.refused).toContainEqual({ reason: 'damaged', count: 1 });
    expect(await node.events()).toHaveLength(kept);
  });

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['text', Buffer.from('This is no WARC file.\r\n\r\nNot at all.')],
    ['gzip of text', gzipSync('This is no WARC file.')],
    ['a cut gzip header', Buffer.from([0x1f, 0x8b, 8])],
  ])('but %s is no such file', async (_what, file) => {
    const answer = await sendFile(node, file);
    expect([answer.status, await answer.json()]).toEqual([
      422,
      expect.objectContaining({ code: 'invalid_capture' }),
    ]);
  });
});

describe('one capture that cannot be taken is refused with its reason, and the others are taken', () => {
  const good = day(1, 'good');
  const chunks = { 'Transfer-Encoding': 'chunked', 'Content-Type': 'text/plain' };
  test.each<[CaptureResult['refused'][number]['reason'], string, Buffer]>([
    ['not_http', 'an address of DNS', response('x', { uri: 'dns:example.com' })],
    ['not_http', 'a name', response('x', { uri: 'urn:uuid:1' })],
    ['not_http', 'a script', response('x', { uri: 'javascript:alert(1)' })],
    ['malformed_url', 'no address', response('x', { uri: 'example' })],
    ['credentials_in_url', 'a password in the address', response('x', { uri: 'http://a:b@example.com/' })],
    ['malformed_date', 'no date', record({ fields: { 'WARC-Date': null }, block: http('x') })],
    ['malformed_date', 'a day alone', response('x', { date: '2020-01-01' })],
    ['malformed_date', 'a day that is not in the calendar', response('x', { date: '2020-02-31T00:00:00Z' })],
    ['truncated', 'a truncated record', response('x', { fields: { 'WARC-Truncated': 'length' } })],
    [
      'truncated',
      'a body shorter than it says',
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
      'another transfer coding',
      record({ block: http('x', { headers: { 'Transfer-Encoding': 'gzip, chunked' } }) }),
    ],
    [
      'digest_mismatch',
      'another payload digest',
      response('x', { fields: { 'WARC-Payload-Digest': sha1('y') } }),
    ],
    [
      'digest_mismatch',
      'another block digest',
      response('x', { fields: { 'WARC-Block-Digest': `sha256:${sha256('y')}` } }),
    ],
    [
      'digest_mismatch',
      'a digest of another length',
      response('x', { fields: { 'WARC-Payload-Digest': 'sha1:ABC' } }),
    ],
    ['too_large', 'a payload beyond the limit', response('x'.repeat(1_500_000))],
    [
      'unresolved_revisit',
      'a revisit of what is not here',
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
    const result = await imported(node, gzippedByRecord([refused, good]));
    expect(result).toMatchObject({ captures: 1, refused: [{ reason, count: 1 }] });
  });

  test('digests in every form are checked, and one of an unknown algorithm is not', async () => {
    const forms = [`sha256:${sha256('x')}`, sha1('x'), 'md5:9dd4e461268c8034f5c8564e155c67a6', 'blake3:00'];
    const records = forms.map((form, index) =>
      response('x', { date: `2020-02-0${index + 1}T00:00:00Z`, fields: { 'WARC-Payload-Digest': form } }),
    );
    expect(await imported(node, Buffer.concat(records))).toMatchObject({ captures: 4, refused: [] });
  });

  test('a small record that unpacks to 300 MB is refused with flat memory', async () => {
    const bomb = gzippedByRecord([response(Buffer.alloc(300_000_000)), good]);
    const before = process.memoryUsage().rss;
    expect(await imported(node, bomb)).toMatchObject({
      captures: 1,
      refused: [{ reason: 'too_large', count: 1 }],
    });
    expect(process.memoryUsage().rss - before).toBeLessThan(200_000_000);
  });

  test('what answers another method than GET is not what the address shows', async () => {
    const request = record({
      type: 'request',
      id: '<urn:uuid:post>',
      contentType: 'application/http; msgtype=request',
      block: 'POST / HTTP/1.1\r\n\r\n',
    });
    const answer = day(2, 'answered')
      .toString('latin1')
      .replace('\r\n', '\r\nWARC-Concurrent-To: <urn:uuid:post>\r\n');
    const result = await imported(node, Buffer.concat([Buffer.from(answer, 'latin1'), request, good]));
    expect(result).toMatchObject({ captures: 1, refused: [{ reason: 'not_get', count: 1 }] });
  });

  test('where there is no room nothing is stored, and what is held already is taken', async () => {
    await imported(node, good);
    await node.set({ data_cap_gb: 0 });
    const again = response('good', { date: '2020-05-01T00:00:00Z' });
    expect(await imported(node, Buffer.concat([day(2, 'new'), again]))).toMatchObject({
      captures: 1,
      refused: [{ reason: 'no_room', count: 1 }],
    });
  });
});

test.each([
  ['no observer', '', 'application/warc', 400, 'invalid_parameter'],
  ['an empty observer', '?observer=', 'application/warc', 400, 'invalid_parameter'],
  ['the node itself', '?observer=self', 'application/warc', 400, 'invalid_parameter'],
  ['a name of 101 characters', `?observer=${'x'.repeat(101)}`, 'application/warc', 400, 'invalid_parameter'],
  ['an unknown parameter', '?observer=A&x=1', 'application/warc', 400, 'unknown_parameter'],
  ['another type', '?observer=A', 'text/plain', 415, 'unsupported_media_type'],
])('refused: %s', async (_what, query, type, status, code) => {
  const answer = await node.node.fetchAsOwner(`/manage/captures${query}`, {
    method: 'POST',
    body: new Uint8Array(whole[0] as Buffer),
    headers: { 'Content-Type': type },
  });
  expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([status, code]);
});
