import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CaptureResult } from '../../../../shared/collection/captures.ts';
import { ManualClock } from '../../../support/manualClock.ts';
import {
  chunked,
  closeScriptedWebs,
  page,
  ScriptedWeb,
  tagged,
} from '../../../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../../../support/node.ts';
import { NOON, record } from '../../../support/warcFiles.ts';
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

describe('an exported WARC file', () => {
  async function imported(into: TestNode, file: Buffer): Promise<CaptureResult> {
    const answer = await into.fetchAsOwner('/manage/captures?observer=first%20node', {
      method: 'POST',
      headers: { 'Content-Type': 'application/warc' },
      body: new Uint8Array(file),
    });
    expect(answer.status, await answer.clone().text()).toBe(200);
    return (await answer.json()) as CaptureResult;
  }

  test.each(['', 'gzip=true'])('imports as the same objects at the same times (%s)', async (query) => {
    web.script('/page', page('one'), tagged('two', '"2"'), tagged('two', '"2"'), page('one'));
    web.script('/chunks', chunked(['ab', 'cd']));
    web.script('/gone', page('gone', { status: 404 }));
    web.script('/odd', page('denied', { status: 999 }));
    await checked('/odd');
    await checked('/page', 4);
    await checked('/chunks');
    await checked('/gone');
    const other = await openTestNode();
    const { captures, refused } = await imported(other, await exported(node.node, query));
    expect([captures, refused]).toEqual([7, []]);
    for (const body of ['one', 'two', 'abcd', 'gone', 'denied']) {
      const answer = await other.fetch(`/archive/${sha256(body).slice(7)}`);
      expect(await answer.text()).toBe(body);
    }
    const timeMap = async (from: TestNode) =>
      (
        (await (await from.fetch(`/timemap/json/${web.url('/page')}`)).json()) as {
          mementos: { list: { datetime: string }[] };
        }
      ).mementos.list.map(({ datetime }) => datetime);
    expect(await timeMap(other)).toEqual(await timeMap(node.node));
    // Captures of others are exported with their capture time and their observer's name.
    const records = await recordsOf(await exported(other, query));
    expect(typesOf(records)).not.toContain('request');
    const first = records.find(({ type }) => type === 'response');
    expect(first?.field('WARC-Date')).toBe('2026-11-20T10:00:00.123Z');
    expect(metadataIn(records.find(({ type }) => type === 'metadata'))).toMatchObject({
      observer: 'first node',
      'original-observed-at': '2026-11-20T10:00:00.123Z',
    });
    const third = await openTestNode();
    expect((await imported(third, await exported(other, query))).captures).toBe(7);
  });

  test('has captures without HTTP as resources, and each object once', async () => {
    const parts = {
      type: 'resource',
      uri: 'http://example.com/r',
      block: 'bytes',
      contentType: 'text/plain',
    };
    const file = [record({ ...parts, date: NOON }), record({ ...parts, date: '2020-01-02T12:00:00Z' })];
    expect((await imported(node.node, Buffer.concat(file))).captures).toBe(2);
    const records = await recordsOf(await exported(node.node));
    expect(typesOf(records)).toBe('warcinfo, resource metadata, revisit metadata');
    const [, first, , again] = records;
    expect([first?.block.toString(), first?.field('Content-Type')]).toEqual(['bytes', 'text/plain']);
    expect(again?.field('WARC-Date')).toBe('2020-01-02T12:00:00.000Z');
    const other = await openTestNode();
    expect((await imported(other, await exported(node.node))).captures).toBe(2);
  });

  test('has captures of an archive under the captured address', async () => {
    const original = 'http://example.com/levels';
    const memento = `/web/20200101120000id_/${original}`;
    web.script(memento, page('one', { headers: { 'Memento-Datetime': 'Wed, 01 Jan 2020 12:00:00 GMT' } }));
    const links = `<${original}>; rel="original", <${web.url(memento)}>; rel="memento"; datetime="Wed, 01 Jan 2020 12:00:00 GMT"`;
    web.script('/timemap', page(links, { headers: { 'Content-Type': 'application/link-format' } }));
    const timemap = web.url('/timemap');
    await node.node.sendJson('POST', '/manage/captures?observer=Archive', { timemap });
    const file = await exported(node.node);
    const [, response, metadata] = await recordsOf(file);
    expect(response?.field('WARC-Target-URI')).toBe(original);
    expect(metadataIn(metadata)).toMatchObject({ observer: 'Archive', 'fetched-from': web.url(memento) });
    const other = await openTestNode();
    expect((await imported(other, file)).captures).toBe(1);
    const mementos = await other.fetch(`/timemap/json/${original}`);
    expect([mementos.status, await mementos.text()]).toEqual([
      200,
      expect.stringContaining('20200101120000'),
    ]);
  });
});
