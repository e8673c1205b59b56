import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { closeTestNodes } from '../../support/node.ts';
import { http, record, response, sha1, sha256, type WarcRecordParts } from '../../support/warcFiles.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';
import { imported, sourceNamed } from './support.ts';

let node: CollectingNode;

beforeEach(async () => {
  node = await openCollectingNode();
});
afterEach(closeTestNodes);

const PROFILE = 'http://netpreserve.org/warc/1.1/revisit';
const FIRST = '<urn:uuid:first>';
const first = (body = 'same') => response(body, { id: FIRST, fields: { 'WARC-Payload-Digest': sha1(body) } });

function revisit(fields: WarcRecordParts['fields'], parts: WarcRecordParts = {}): Buffer {
  return record({
    type: 'revisit',
    date: '2020-06-01T00:00:00Z',
    ...parts,
    fields: { 'WARC-Profile': `${PROFILE}/identical-payload-digest`, ...fields },
  });
}

async function attempts() {
  const { id } = await sourceNamed(node, 'http://example.com/');
  return node.retrievals(id);
}

describe('a revisit', () => {
  const ways: [string, WarcRecordParts['fields']][] = [
    ['the id of the record', { 'WARC-Refers-To': FIRST }],
    [
      'address and time',
      { 'WARC-Refers-To-Target-URI': 'http://example.com/', 'WARC-Refers-To-Date': '2020-01-01T12:00:00Z' },
    ],
    ['the digest of the payload', { 'WARC-Payload-Digest': sha1('same') }],
  ];

  test.each(ways)('is resolved by %s, to a later record of the same file', async (_way, fields) => {
    expect(await imported(node, Buffer.concat([revisit(fields), first()]))).toMatchObject({
      captures: 2,
      events: [1],
      refused: [],
    });
    expect((await attempts()).map(({ sha256: digest, bytes, status }) => [digest, bytes, status])).toEqual([
      [sha256('same'), 4, 200],
      [sha256('same'), 4, 200],
    ]);
  });

  test.each(ways)('is resolved by %s, to a capture imported before', async (_way, fields) => {
    await imported(node, first(), { observer: 'Another' });
    expect(await imported(node, revisit(fields))).toMatchObject({ captures: 1, events: [2], refused: [] });
    expect((await node.events('observer=Archive'))[0]).toMatchObject({
      event_type: 'first_seen',
      sha256: sha256('same'),
    });
  });

  test.each(['http://netpreserve.org/warc/1.1', 'http://netpreserve.org/warc/1.0'])(
    'is resolved by digest at another address (%s)',
    async (format) => {
      const fields = {
        'WARC-Profile': `${format}/revisit/uri-agnostic-identical-payload-digest`,
        'WARC-Payload-Digest': sha1('same'),
      };
      const elsewhere = revisit(fields, { uri: 'http://other.example/' });
      await imported(node, Buffer.concat([elsewhere, first()]));
      const later = revisit(fields, { uri: 'http://third.example/', date: '2020-07-01T00:00:00Z' });
      expect(await imported(node, later)).toMatchObject({ captures: 1, refused: [] });
      for (const url of ['http://other.example/', 'http://third.example/']) {
        const { id } = await sourceNamed(node, url);
        expect(await node.retrievals(id)).toMatchObject([
          { sha256: sha256('same'), status: 200, error: null },
        ]);
      }
    },
  );

  test('is resolved by its SHA-256 to an object of the node itself', async () => {
    await imported(node, response('same'));
    const fields = { 'WARC-Payload-Digest': `sha256:${sha256('same')}` };
    const elsewhere = revisit(fields, { uri: 'http://other.example/' });
    expect(await imported(node, elsewhere)).toMatchObject({ captures: 1, refused: [] });
  });

  test('is resolved by address and time under the other scheme', async () => {
    const fields = {
      'WARC-Refers-To-Target-URI': 'https://example.com/',
      'WARC-Refers-To-Date': '2020-01-01T12:00:00Z',
    };
    const secure = revisit(fields, { uri: 'https://example.com/' });
    expect(await imported(node, Buffer.concat([first(), secure]))).toMatchObject({
      captures: 2,
      refused: [],
    });
  });

  test('is read if it says that its payload is left out and gives the digest of an empty block', async () => {
    const fields = {
      'WARC-Refers-To': FIRST,
      'WARC-Truncated': 'length',
      'WARC-Block-Digest': sha1(''),
      'WARC-Payload-Digest': sha1('same'),
    };
    const block = http('', { headers: { 'Content-Type': 'text/plain', 'Content-Length': '4' } });
    expect(await imported(node, Buffer.concat([first(), revisit(fields, { block })]))).toMatchObject({
      captures: 2,
      refused: [],
    });
    const wrong = revisit(
      { ...fields, 'WARC-Block-Digest': sha1('x') },
      { block, date: '2020-08-01T00:00:00Z' },
    );
    expect(await imported(node, wrong)).toMatchObject({ refused: [{ reason: 'digest_mismatch', count: 1 }] });
  });

  test('of a revisit is resolved to the original capture', async () => {
    const chain = [first(), revisit({ 'WARC-Refers-To': FIRST }, { id: '<urn:uuid:second>' })];
    const last = revisit({ 'WARC-Refers-To': '<urn:uuid:second>' }, { date: '2020-07-01T00:00:00Z' });
    expect(await imported(node, Buffer.concat([...chain, last]))).toMatchObject({ captures: 3, events: [1] });
  });

  test('with an HTTP head keeps its own headers', async () => {
    const block = http('', { headers: { 'Content-Type': 'text/plain', Age: '7' } });
    await imported(node, Buffer.concat([first(), revisit({ 'WARC-Refers-To': FIRST }, { block })]));
    expect((await attempts())[1]).toMatchObject({
      content_type: 'text/plain',
      headers: [
        ['Content-Type', 'text/plain'],
        ['Age', '7'],
      ],
    });
  });

  test('with status 304 is an observation of the same object', async () => {
    const block = http('', { status: 304, headers: { ETag: '"a"' } });
    const fields = { 'WARC-Profile': `${PROFILE}/server-not-modified`, 'WARC-Refers-To': FIRST };
    await imported(node, Buffer.concat([first(), revisit(fields, { block })]));
    expect((await attempts())[1]).toMatchObject({
      status: 304,
      error: null,
      content_type: 'text/html',
      sha256: sha256('same'),
    });
  });

  test('is refused if its payload digest does not match the capture', async () => {
    const lying = revisit({ 'WARC-Refers-To': FIRST, 'WARC-Payload-Digest': sha1('other') });
    expect(await imported(node, Buffer.concat([first(), lying]))).toMatchObject({
      captures: 1,
      refused: [{ reason: 'digest_mismatch', count: 1 }],
    });
  });

  test('is refused if it refers to itself or its profile is unknown', async () => {
    const circle = revisit({ 'WARC-Refers-To': '<urn:uuid:circle>' }, { id: '<urn:uuid:circle>' });
    const strange = revisit({ 'WARC-Refers-To': FIRST, 'WARC-Profile': 'http://example.com/mine' });
    expect(await imported(node, Buffer.concat([first(), circle, strange]))).toMatchObject({
      captures: 1,
      refused: [{ reason: 'unresolved_revisit', count: 2 }],
    });
  });

  test('of an error page creates no event', async () => {
    const gone = response('gone', { id: FIRST, status: 404 });
    expect(await imported(node, Buffer.concat([gone, revisit({ 'WARC-Refers-To': FIRST })]))).toMatchObject({
      captures: 2,
      events: [],
    });
  });
});
