import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ObjectMetadata } from '../../../../shared/collection/retrieval.ts';
import { ManualClock } from '../../../support/manualClock.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../../support/node.ts';
import { http, NOON, record, response, sha256 } from '../../../support/warcFiles.ts';
import { type CollectingNode, openCollectingNode } from '../../support.ts';
import { imported } from '../support.ts';

const TEXT = '<title>Levels</title><p>12.7 m</p>'.repeat(40);
const URL = 'http://example.com/';
const STAMP = '20200101120000';

let node: CollectingNode;

beforeEach(async () => {
  node = await openCollectingNode({}, { clock: new ManualClock('2026-11-20T10:00:00.000Z') });
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const encodedBy = (coding: string, body: Buffer | string) =>
  response('', {
    block: http(body, { headers: { 'Content-Type': 'text/html', 'Content-Encoding': coding } }),
  });

const codings: [string, Buffer][] = [
  ['gzip', gzipSync(TEXT)],
  ['deflate', deflateSync(TEXT)],
  ['br', brotliCompressSync(TEXT)],
  ['zstd', zstdCompressSync(TEXT)],
];

describe('a body that was recorded encoded', () => {
  test.each(codings)(
    'with %s is decoded by clients of /memento, but not by those of /archive',
    async (coding, body) => {
      await imported(node, encodedBy(coding, body));
      const answer = await node.node.fetch(`/memento/${STAMP}/${URL}`);
      expect(answer.headers.get('Content-Encoding')).toBe(coding);
      expect(answer.headers.get('Vary')).toContain('Accept-Encoding');
      expect(answer.headers.get('Content-Length')).toBe(String(body.length));
      expect(await answer.text()).toBe(TEXT);
      const object = await node.node.fetch(`/archive/${sha256(body)}`);
      expect(object.headers.get('Content-Encoding')).toBeNull();
      expect(sha256(Buffer.from(await object.arrayBuffer()))).toBe(sha256(body));
      const metadata = await node.read<ObjectMetadata>(`/archive/${sha256(body)}/metadata`);
      expect(metadata.retrievals).toMatchObject([{ content_encoding: coding, content_type: 'text/html' }]);
      const text = await node.node.fetch(`/archive/${sha256(body)}/text`);
      expect(await text.text()).toContain('12.7 m');
    },
  );

  test('by the collector is sent as recorded, also for a 304', async () => {
    const web = await ScriptedWeb.open();
    const body = gzipSync(TEXT);
    const headers = { 'Content-Encoding': 'gzip', ETag: '"1"' };
    web.script('/page', page(body, { headers }), page('', { status: 304, headers: { ETag: '"1"' } }));
    const source = await node.watch(web.url('/page'), { ignore_robots: true });
    await node.check();
    await node.check();
    const [, unchanged] = await node.retrievals(source.id);
    expect(unchanged?.status).toBe(304);
    const gate = await node.node.fetch(`/timegate/${web.url('/page')}`);
    const answer = await fetch(gate.headers.get('Location') ?? '');
    expect(answer.headers.get('Content-Encoding')).toBe('gzip');
    expect(await answer.text()).toBe(TEXT);
  });

  test('is repeated by a revisit without a head', async () => {
    const first = encodedBy('gzip', gzipSync(TEXT));
    const revisit = record({
      type: 'revisit',
      date: '2020-06-01T00:00:00Z',
      fields: {
        'WARC-Profile': 'http://netpreserve.org/warc/1.1/revisit/identical-payload-digest',
        'WARC-Refers-To-Target-URI': URL,
        'WARC-Refers-To-Date': NOON,
      },
    });
    await imported(node, Buffer.concat([first, revisit]));
    expect(await (await node.node.fetch(`/memento/20200601000000/${URL}`)).text()).toBe(TEXT);
  });
});

test.each([
  ['that is not encoded, as some archives write it', 'gzip', TEXT],
  ['with an unknown coding', 'utf-8', TEXT],
  ['encoded more often than clients decode', 'gzip, gzip, gzip, gzip', gzipSync(TEXT)],
])('a body %s is sent without a coding', async (_what, coding, body) => {
  await imported(node, encodedBy(coding, body));
  const answer = await node.node.fetch(`/memento/${STAMP}/${URL}`);
  expect([answer.status, answer.headers.get('Content-Encoding')]).toEqual([200, null]);
  expect(sha256(Buffer.from(await answer.arrayBuffer()))).toBe(sha256(body));
});
