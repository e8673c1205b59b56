import { hash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { closeTestNodes } from '../../support/node.ts';
import { gzippedByRecord, http, NOON, record, response, sha1, sha256 } from '../../support/warcFiles.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';
import { bytesOf, imported, sourceNamed } from './support.ts';

let node: CollectingNode;

beforeEach(async () => {
  node = await openCollectingNode();
});
afterEach(closeTestNodes);

const PAGE = '<title>Levels</title>12.7 metres';

describe('importing a WARC file (contract, section 3)', () => {
  const file = [
    record({
      type: 'warcinfo',
      uri: '',
      contentType: 'application/warc-fields',
      block: 'software: by hand\r\n',
    }),
    record({
      type: 'request',
      contentType: 'application/http; msgtype=request',
      block: 'GET / HTTP/1.1\r\n\r\n',
    }),
    response(PAGE),
    record({ type: 'metadata', contentType: 'text/plain', block: 'outlink: x' }),
  ];

  test.each([
    ['uncompressed', Buffer.concat(file)],
    ['compressed record by record', gzippedByRecord(file)],
    ['compressed as one stream', gzipSync(Buffer.concat(file))],
  ])('reads a file that is %s', async (_how, bytes) => {
    const result = await imported(node, bytes);
    expect(result).toEqual({ captures: 1, already_held: 0, skipped: 3, events: [1], refused: [] });
    expect(await bytesOf(node, sha256(PAGE))).toBe(PAGE);
  });

  test('records a retrieval with the capture time, without changing the state of the source', async () => {
    await imported(node, Buffer.concat(file), { observer: 'The Archive' });
    const source = await sourceNamed(node, 'http://example.com/');
    expect(source).toMatchObject({
      paused: true,
      state: 'new',
      last_sha256: null,
      last_checked_at: null,
      recent_checks: [],
    });
    const [retrieval, ...others] = await node.retrievals(source.id);
    expect(others).toEqual([]);
    expect(retrieval).toMatchObject({
      observer: 'The Archive',
      original_observed_at: '2020-01-01T12:00:00.000Z',
      status: 200,
      error: null,
      content_type: 'text/html',
      headers: [
        ['Content-Type', 'text/html'],
        ['Content-Length', String(PAGE.length)],
      ],
      sha256: sha256(PAGE),
      bytes: PAGE.length,
    });
    expect(Math.abs(Date.parse(retrieval?.observed_at ?? '') - Date.now())).toBeLessThan(60_000);
    const [event] = await node.events('observer=The Archive');
    expect(event).toMatchObject({
      event_type: 'first_seen',
      observed_at: retrieval?.observed_at,
      previous_sha256: null,
    });
  });

  test('records no header that carries a session, and the others as they came', async () => {
    const secret = 'sid=frangipane-7';
    const head = (status: string, ...lines: string[]) =>
      [`HTTP/1.1 ${status}`, ...lines, `SET-COOKIE: ${secret}`, 'X-Odd:  kept', '', ''].join('\r\n');
    await imported(
      node,
      gzippedByRecord([
        record({ uri: 'http://example.com/', block: `${head('200 OK', `Set-Cookie2: ${secret}`)}body` }),
        record({ uri: 'http://example.com/from', block: head('302 Found', 'Location: /to') }),
        record({ uri: 'http://example.com/to', block: `${head('200 OK')}other` }),
      ]),
    );
    const { id } = await sourceNamed(node, 'http://example.com/');
    expect((await node.retrievals(id)).map(({ headers }) => headers)).toEqual([[['X-Odd', 'kept']]]);
    for (const path of ['/api/retrievals', '/api/dump.jsonl', '/api/warc'])
      expect(await (await node.node.fetch(path)).text()).not.toContain(secret);
  });

  test('does not record the same capture twice', async () => {
    await imported(node, Buffer.concat(file));
    expect(await imported(node, gzippedByRecord(file))).toMatchObject({
      captures: 0,
      already_held: 1,
      events: [],
    });
    expect(await imported(node, Buffer.concat(file), { observer: 'Another' })).toMatchObject({ captures: 1 });
  });

  test('creates a sequence of events per observer, in the order of capture times', async () => {
    const day = (number: number, body: string) => response(body, { date: `2020-01-0${number}T00:00:00Z` });
    await imported(
      node,
      Buffer.concat([day(3, 'one'), day(1, 'one'), day(2, 'two'), day(4, 'one'), day(5, 'three')]),
    );
    const events = (await node.events()).reverse();
    expect(
      events.map(({ event_type, original_observed_at, reverts_to }) => [
        event_type,
        original_observed_at,
        reverts_to,
      ]),
    ).toEqual([
      ['first_seen', '2020-01-01T00:00:00.000Z', null],
      ['changed', '2020-01-02T00:00:00.000Z', null],
      ['changed', '2020-01-03T00:00:00.000Z', 1],
      ['changed', '2020-01-05T00:00:00.000Z', null],
    ]);
    expect(events.map(({ previous_sha256 }) => previous_sha256)).toEqual([
      null,
      sha256('one'),
      sha256('two'),
      sha256('one'),
    ]);
    await imported(node, day(6, 'two'), { observer: 'Another' });
    expect(await node.timeline('observer=Another')).toEqual(['first_seen']);
    await imported(node, day(7, 'three'));
    expect(await node.timeline('observer=Archive')).toHaveLength(4);
  });

  test('archives errors, redirects and partial responses without creating events', async () => {
    const gone = response('Not here', { status: 404, date: '2020-01-02T00:00:00Z' });
    const moved = record({
      date: '2020-01-03T00:00:00Z',
      block: http('Moved', { status: 301, headers: { Location: '/new', 'Content-Type': 'text/html' } }),
    });
    const part = response('12.7', { status: 206, date: '2020-01-04T00:00:00Z' });
    expect(await imported(node, Buffer.concat([gone, moved, part]))).toMatchObject({
      captures: 3,
      events: [],
    });
    const { id } = await sourceNamed(node, 'http://example.com/');
    expect(
      (await node.retrievals(id)).map(({ status, error, sha256: digest }) => [status, error, digest]),
    ).toEqual([
      [404, 'http_error', sha256('Not here')],
      [301, 'redirected', sha256('Moved')],
      [206, 'invalid_response', sha256('12.7')],
    ]);
    expect((await node.read<{ observations: number }>('/api/stats')).observations).toBe(0);
  });

  test('records a resource without a status and with the content type of the record', async () => {
    const bytes = record({ type: 'resource', contentType: 'text/csv', block: 'a,b\n', version: '1.0' });
    expect(await imported(node, bytes)).toMatchObject({ captures: 1, events: [1] });
    const { id } = await sourceNamed(node, 'http://example.com/');
    expect(await node.retrievals(id)).toMatchObject([
      { status: null, error: null, content_type: 'text/csv' },
    ]);
  });

  test('stores bytes after transfer decoding, with their content encoding', async () => {
    const packed = gzipSync(PAGE);
    const sizes = [packed.subarray(0, 10), packed.subarray(10)].map((chunk) =>
      Buffer.concat([Buffer.from(`${chunk.length.toString(16)};note=1\r\n`), chunk, Buffer.from('\r\n')]),
    );
    const body = Buffer.concat([...sizes, Buffer.from('0\r\nTrailer: x\r\n\r\n')]);
    const headers = {
      'Content-Encoding': 'gzip',
      'Transfer-Encoding': 'chunked',
      'Content-Type': 'text/html',
    };
    for (const [date, digest] of [
      ['2020-01-01T00:00:00Z', sha1(body)],
      ['2020-01-02T00:00:00Z', sha1(packed)],
    ] as const) {
      const one = record({ date, block: http(body, { headers }), fields: { 'WARC-Payload-Digest': digest } });
      expect(await imported(node, one)).toMatchObject({ captures: 1, refused: [] });
    }
    expect(await bytesOf(node, sha256(packed))).toBe(packed.toString('latin1'));
  });

  test('accepts a body that is already decoded but has a chunked header', async () => {
    const headers = { 'Transfer-Encoding': 'chunked', 'Content-Type': 'text/plain' };
    await imported(node, record({ block: http('no size here\nmore', { headers }) }));
    expect(await bytesOf(node, sha256('no size here\nmore'))).toBe('no size here\nmore');
  });

  describe('a body whose head names a transfer coding', () => {
    const coded = { 'Transfer-Encoding': 'chunked', 'Content-Type': 'text/csv' };
    const table = '0;1;2\r\n3;4;5\r\n';
    const framed = '3\r\nabc\r\n0\r\n\r\n';
    const packed = gzipSync('abc');
    const chunksOf = (bytes: Buffer) =>
      Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n0\r\n\r\n')]);
    test.each<[string, string | Buffer, string | Buffer, string | undefined, Record<string, string>]>([
      ['that looks like an empty chunk', table, table, undefined, coded],
      ['that looks like an empty chunk, with its digest', table, table, sha1(table), coded],
      [
        'that looks like an empty chunk with trailers',
        '0\r\na: b\r\n',
        '0\r\na: b\r\n',
        sha1('0\r\na: b\r\n'),
        coded,
      ],
      ['that begins with a number', '2\r\n3;4\r\n', '2\r\n3;4\r\n', undefined, coded],
      [
        'that begins with a large number, with its digest',
        'abc\r\n1;2\r\n',
        'abc\r\n1;2\r\n',
        sha1('abc\r\n1;2\r\n'),
        coded,
      ],
      ['that is one line', 'ff', 'ff', undefined, coded],
      ['in chunks', framed, 'abc', undefined, coded],
      ['in chunks, with more empty lines', `${framed}\r\n`, 'abc', undefined, coded],
      ['in chunks, with other bytes behind them', `${framed}more`, `${framed}more`, undefined, coded],
      [
        'in chunks, with other bytes behind them, and the digest of all',
        `${framed}more`,
        `${framed}more`,
        sha1(`${framed}more`),
        coded,
      ],
      ['in chunks, with the digest of what they hold', framed, 'abc', sha1('abc'), coded],
      [
        'compressed, in chunks',
        chunksOf(packed),
        'abc',
        undefined,
        { ...coded, 'Transfer-Encoding': 'gzip, chunked' },
      ],
      ['compressed', packed, 'abc', undefined, { ...coded, 'Transfer-Encoding': 'gzip' }],
      ['named identity', framed, framed, undefined, { ...coded, 'Transfer-Encoding': 'identity' }],
    ])('%s', async (_title, body, kept, digest, headers) => {
      const fields: Record<string, string> = digest === undefined ? {} : { 'WARC-Payload-Digest': digest };
      const result = await imported(node, record({ block: http(body, { headers }), fields }));
      expect(result).toMatchObject({ captures: 1, refused: [] });
      const [event] = await node.events();
      expect(event?.sha256).toBe(sha256(kept));
      expect(await bytesOf(node, sha256(kept))).toBe(Buffer.from(kept).toString('latin1'));
    });
  });

  test.each<[string, string, number]>([
    ['in lower case', 'http/1.1 200 OK', 200],
    ['without a version', 'HTTP 200 Document follows', 200],
    ['of HTTP/2', 'HTTP/2 200', 200],
    ['with a status that nobody defined', 'HTTP/1.1 999 Request denied', 999],
    ['with a status below 100', 'HTTP/1.1 042 Odd', 42],
  ])('a status line %s', async (_title, line, status) => {
    const block = `${line}\r\nContent-Type: text/plain\r\n\r\nabc`;
    expect(await imported(node, record({ block }))).toMatchObject({ captures: 1, refused: [] });
    const [retrieval] = await node.retrievals((await sourceNamed(node, 'http://example.com/')).id);
    expect(retrieval).toMatchObject({ status, error: status === 200 ? null : 'http_error' });
  });

  test.each<[string, Record<string, string>]>([
    ['a length behind the colon', { 'Content-Length': '\r\n 89' }],
    ['an address behind the colon', { 'WARC-Target-URI': '\r\n\thttp://example.com/' }],
    ['a date behind the colon', { 'WARC-Date': '\r\n  2020-01-01T12:00:00Z' }],
    ['a digest in base64', { 'WARC-Payload-Digest': `sha1:${hash('sha1', 'abc', 'base64')}` }],
    [
      'a digest in base64url without padding',
      { 'WARC-Payload-Digest': `sha256:${hash('sha256', 'abc', 'base64url')}` },
    ],
    ['a digest in upper-case hex', { 'WARC-Payload-Digest': `sha256:${sha256('abc').toUpperCase()}` }],
    ['a digest in lower-case base32', { 'WARC-Payload-Digest': sha1('abc').toLowerCase() }],
    ['a digest in a form that nobody knows', { 'WARC-Payload-Digest': `sha1:<${'x'.repeat(40)}>` }],
  ])('reads %s', async (_title, fields) => {
    const block =
      'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Filler: a long value so that it is 89\r\n\r\nabc';
    expect(Buffer.byteLength(block)).toBe(89);
    expect(await imported(node, record({ block, fields }))).toMatchObject({ captures: 1, refused: [] });
    expect(await bytesOf(node, sha256('abc'))).toBe('abc');
  });

  test('joins a redirect whose Location is UTF-8 with its target', async () => {
    const hop = Buffer.from('HTTP/1.1 302 Found\r\nLocation: /caf\u00e9\r\n\r\n');
    const file = Buffer.concat([
      record({ uri: 'http://example.com/start', block: hop }),
      response('there', { uri: 'http://example.com/caf%C3%A9', date: '2020-01-01T12:00:01Z' }),
    ]);
    expect(await imported(node, file)).toMatchObject({ captures: 2, refused: [] });
  });

  test('assigns captures of a watched address to that source without changing its state', async () => {
    const watched = await node.watch('http://example.com/#top', { name: 'Levels' });
    await imported(node, response(PAGE));
    expect(await node.source(watched.id)).toEqual(watched);
    const [event] = await node.events();
    expect(event?.source).toMatchObject({ id: watched.id, name: 'Levels' });
  });

  test('labels a capture that looks like an error page', async () => {
    await imported(node, response('<title>404 Not Found</title>', { date: NOON }));
    expect((await node.events())[0]?.page_label).toMatchObject({ label: 'error_page' });
  });

  test('returns the job with wait=false', async () => {
    const answer = await node.node.fetchAsOwner('/manage/captures?observer=A&wait=false', {
      method: 'POST',
      body: new Uint8Array(response(PAGE)),
      headers: { 'Content-Type': 'application/warc' },
    });
    const job = (await answer.json()) as { id: string; kind: string };
    expect([answer.status, job.kind]).toEqual([202, 'import']);
  });
});
