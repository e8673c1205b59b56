import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ManualClock } from '../../../support/manualClock.ts';
import {
  chunked,
  closeScriptedWebs,
  cutShort,
  page,
  raw,
  redirect,
  ScriptedWeb,
  tagged,
} from '../../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../../support.ts';
import { checkRepeatedly, exported, metadataIn, recordsOf, sha256, typesOf } from './warcSupport.ts';

let clock: ManualClock;
let node: CollectingNode;
let web: ScriptedWeb;

beforeEach(async () => {
  clock = new ManualClock('2026-11-20T10:00:00.123Z');
  node = await openCollectingNode({}, { clock });
  web = await ScriptedWeb.open();
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

/** Checks a path several times, a minute apart. */
const checked = (path: string, times = 1, options: object = {}) =>
  checkRepeatedly({ node, web, clock }, path, times, options);

describe('exporting a source as WARC', () => {
  test('writes response, request and metadata, and a revisit for repeated bytes', async () => {
    web.script('/page', page('one'), page('two'), page('one'));
    const id = await checked('/page', 3, { headers: { 'X-Token': 'hunter2' } });
    const answer = await node.node.fetch(`/api/warc?source=${id}`);
    const filename = `strongroom_${id}.warc`;
    expect(answer.headers.get('Content-Disposition')).toBe(`attachment; filename="${filename}"`);
    const file = Buffer.from(await answer.arrayBuffer());
    const records = await recordsOf(file);
    expect(typesOf(records)).toBe(
      'warcinfo, response request metadata, response request metadata, revisit request metadata',
    );
    for (const { block, field } of records) {
      expect(field('WARC-Block-Digest')).toBe(sha256(block));
      expect(field('Content-Length')).toBe(String(block.length));
      expect(field('WARC-Record-ID')).toMatch(
        /^<urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}>$/,
      );
    }
    expect(new Set(records.map(({ field }) => field('WARC-Record-ID'))).size).toBe(records.length);
    const [info, first, request, known, , , , again] = records;
    expect([info?.field('WARC-Filename'), info?.field('WARC-Date')]).toEqual([
      filename,
      '2026-11-20T10:02:00.123Z',
    ]);
    expect(first?.head.split('\r\n')).toEqual([
      'HTTP/1.1 200 OK',
      'Content-Type: text/html',
      'Content-Length: 3',
      'Connection: close',
    ]);
    expect(first?.payload.toString()).toBe('one');
    expect(first?.field('WARC-Payload-Digest')).toBe(sha256('one'));
    expect(first?.field('WARC-Target-URI')).toBe(web.url('/page'));
    expect(first?.field('WARC-Date')).toBe('2026-11-20T10:00:00.123Z');
    const seen = web.requests('/page')[0]?.headers ?? {};
    expect(request?.head.split('\r\n')).toEqual([
      'GET /page HTTP/1.1',
      ...Object.entries({ ...seen, 'x-token': '[withheld]' }).map(([name, value]) => `${name}: ${value}`),
    ]);
    expect(request?.field('WARC-Concurrent-To')).toBe(first?.field('WARC-Record-ID'));
    expect(file.includes('hunter2')).toBe(false);
    const [, event] = (await node.events()).reverse();
    expect(metadataIn(known)).toMatchObject({
      source: id,
      'source-url': web.url('/page'),
      observer: 'self',
      'observed-at': '2026-11-20T10:00:00.123Z',
      status: '200',
      object: sha256('one'),
      events: '1 first_seen',
    });
    expect(metadataIn(records[6])['ledger-entries']).toBe(String(event?.ledger_entry));
    expect(again?.field('WARC-Profile')).toBe(
      'http://netpreserve.org/warc/1.1/revisit/identical-payload-digest',
    );
    expect(again?.field('WARC-Refers-To')).toBe(first?.field('WARC-Record-ID'));
    expect(again?.field('WARC-Refers-To-Target-URI')).toBe(web.url('/page'));
    expect(again?.field('WARC-Refers-To-Date')).toBe('2026-11-20T10:00:00.123Z');
    expect(again?.field('WARC-Payload-Digest')).toBe(sha256('one'));
    expect(again?.field('WARC-Truncated')).toBe('length');
    expect(again?.payload).toHaveLength(0);
  });

  test('writes the same bytes each time, and compresses each record separately', async () => {
    web.script('/page', page('one'), page(Buffer.alloc(3_000_000, 'x')));
    await checked('/page', 2);
    const plain = await exported(node.node);
    expect((await exported(node.node)).equals(plain)).toBe(true);
    const compressed = await exported(node.node, 'gzip=true');
    expect((await exported(node.node, 'gzip=true')).equals(compressed)).toBe(true);
    expect(compressed.length).toBeLessThan(100_000);
    const withoutName = (file: Buffer) =>
      file.subarray(file.indexOf('WARC-Type: response')).toString('latin1');
    const [, ...kept] = await recordsOf(compressed);
    const [, ...expected] = await recordsOf(plain);
    expect(kept.map(({ block }) => block)).toEqual(expected.map(({ block }) => block));
    expect(withoutName(gunzipSync(compressed)).length).toBe(withoutName(plain).length);
    const members = compressed.toString('latin1').split('\x1f\x8b\x08').length - 1;
    expect(members).toBeGreaterThanOrEqual(kept.length + 1);
  });

  test('writes a 304 as a revisit, and includes its original from before the time range', async () => {
    web.script('/page', tagged('one', '"1"'));
    const id = await checked('/page', 3);
    const all = await recordsOf(await exported(node.node, `source=${id}`));
    expect(typesOf(all)).toBe(
      'warcinfo, response request metadata, revisit request metadata, revisit request metadata',
    );
    const later = await recordsOf(await exported(node.node, 'since=2026-11-20T10:01:30Z'));
    const [, origin, , , again] = later;
    expect(typesOf(later)).toBe('warcinfo, response request metadata, revisit request metadata');
    expect(origin?.payload.toString()).toBe('one');
    expect(again?.head).toMatch(/^HTTP\/1\.1 304 Not Modified\r\n/);
    expect(again?.field('WARC-Profile')).toMatch(/\/server-not-modified$/);
    expect(again?.field('WARC-Refers-To')).toBe(origin?.field('WARC-Record-ID'));
    expect(again?.field('WARC-Payload-Digest')).toBe(sha256('one'));
  });

  test('writes a head that matches the body for any transfer coding', async () => {
    web.script('/chunks', chunked(['ab', 'cd']));
    web.script(
      '/odd',
      raw('HTTP/1.1 200 Fine\r\nX-Name: caf\xe9\r\nset-cookie: a\r\nSet-Cookie: b\r\n\r\nbody'),
    );
    const chunks = await checked('/chunks');
    const odd = await checked('/odd');
    const [, first] = await recordsOf(await exported(node.node, `source=${chunks}`));
    expect(first?.head.split('\r\n')).toEqual([
      'HTTP/1.1 200 OK',
      'Content-Type: text/plain',
      'X-Crawler-Transfer-Encoding: chunked',
      'Connection: close',
      'Content-Length: 4',
    ]);
    expect(first?.payload.toString()).toBe('abcd');
    const [, second] = await recordsOf(await exported(node.node, `source=${odd}`));
    expect(second?.head.split('\r\n')).toEqual([
      'HTTP/1.1 200 OK',
      'X-Name: caf\xe9',
      'set-cookie: a',
      'Set-Cookie: b',
    ]);
  });

  test('writes metadata of failed attempts, and error pages', async () => {
    const other = await ScriptedWeb.open();
    other.script('/to', page('gone', { status: 404 }));
    web.script('/page', redirect(other.url('/to')), cutShort(100, 'some'));
    const id = await checked('/page', 2);
    const records = await recordsOf(await exported(node.node, `source=${id}`));
    expect(typesOf(records)).toBe('warcinfo, response response request metadata, metadata');
    expect(records[1]?.field('WARC-Target-URI')).toBe(web.url('/page'));
    expect(records[2]?.head).toMatch(/^HTTP\/1\.1 404 Not Found\r\n/);
    expect(records[2]?.field('WARC-Target-URI')).toBe(other.url('/to'));
    expect(metadataIn(records[4])).toMatchObject({
      error: 'http_error',
      redirects: `302 ${web.url('/page')}`,
    });
    expect(metadataIn(records[5])).toMatchObject({ error: 'body_cut_short' });
  });

  test('reports a damaged object and leaves out its bytes', async () => {
    web.script('/page', page('one'));
    const id = await checked('/page');
    const digest = sha256('one').slice(7);
    const file = join(node.node.dataFolder, 'blobs', digest.slice(0, 2), digest.slice(2, 4), digest);
    await writeFile(file, 'two');
    const records = await recordsOf(await exported(node.node, `source=${id}`));
    expect(typesOf(records)).toBe('warcinfo, metadata');
    expect(metadataIn(records[1])).toMatchObject({
      object: sha256('one'),
      'object-state': 'missing or damaged',
    });
  });

  test('filters by source and time range, and refuses other parameters', async () => {
    web.script('/page', page('one'), page('two'));
    await checked('/page', 2);
    const dated = async (query: string) =>
      (await recordsOf(await exported(node.node, query)))
        .filter(({ type }) => type === 'response')
        .map(({ payload }) => payload.toString());
    expect(await dated('')).toEqual(['one', 'two']);
    expect(await dated('since=2026-11-20T10:01:00.123Z')).toEqual(['two']);
    expect(await dated('until=2026-11-20T10:01:00.122Z')).toEqual(['one']);
    expect(await dated('until=2026-11-19')).toEqual([]);
    const codes = [];
    for (const query of ['sauce=1', 'source=so_1', 'since=now', `source=so_${'0'.repeat(20)}`]) {
      const answer = await node.node.fetch(`/api/warc?${query}`);
      codes.push(((await answer.json()) as { code: string }).code);
    }
    expect(codes).toEqual(['unknown_parameter', 'invalid_parameter', 'invalid_parameter', 'not_found']);
    expect((await node.node.fetch('/api/warc', { method: 'HEAD' })).headers.get('Content-Type')).toBe(
      'application/warc',
    );
  });
});
