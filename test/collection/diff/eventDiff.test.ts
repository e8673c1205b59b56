import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PNG } from 'pngjs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Stats } from '../../../shared/collection/collection.ts';
import type { Diff } from '../../../shared/collection/diff.ts';
import type { ProblemDocument } from '../../../shared/problems.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';
import { collectChange, partsOf, readDiff, type Version } from './support.ts';

let web: ScriptedWeb;
let node: CollectingNode;

/** Each test has a source of its own. */
beforeAll(async () => {
  web = await ScriptedWeb.open();
  node = await openCollectingNode();
});
afterAll(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

/** Returns the diff between two successive versions of an address. */
async function diffOf(type: string, from: Version, to: Version, toType = type): Promise<Diff> {
  return readDiff(node, await collectChange(node, web, { type, from, to, toType }));
}

async function problemOf(path: string): Promise<ProblemDocument> {
  return (await (await node.node.fetch(path)).json()) as ProblemDocument;
}

describe('the diff of an event', () => {
  test('lists the changed words of a page, and names both objects and the tool', async () => {
    const diff = await diffOf(
      'text/html',
      '<h1>Tides</h1><p>High at noon.</p>',
      '<h1>Tides</h1><p>High at <b>one</b>.</p>',
    );
    const [row] = await node.events('event_type=changed');
    expect(diff).toMatchObject({
      event: row?.id,
      kind: 'html',
      from: { sha256: row?.previous_sha256, bytes: 34, content_type: 'text/html' },
      to: { sha256: row?.sha256 },
      tool: { name: 'strongroom-diff' },
      truncated: false,
      reason: null,
      noise: { rules: [], watch: null, outside: false, is_noise: null, ignored: 0 },
      summary: { unit: 'words', added: 1, removed: 1 },
    });
    expect(partsOf(diff)).toContainEqual({ op: 'removed', text: 'noon' });
    expect(partsOf(diff)).toContainEqual({ op: 'added', text: 'one' });
  });

  test('lists changed link targets of a page', async () => {
    const link = (to: string) => `<p><a href="/${to}.pdf">Report</a>`;
    const diff = await diffOf('text/html', link('spring'), link('autumn'));
    expect(partsOf(diff)).toContainEqual({ op: 'removed', text: 'spring' });
    expect(partsOf(diff)).toContainEqual({ op: 'added', text: 'autumn' });
  });

  test.each([
    ['text/plain', 'one two', 'one 2', 'text'],
    ['application/xml', '<a><b c="1"/></a>', '<a><b c="2"/></a>', 'xml'],
    ['application/json', '{"a":[1,2]}', '{"a":[1,3]}', 'json'],
    ['text/csv', 'id,n\n1,2\n', 'id,n\n1,3\n', 'csv'],
    ['application/octet-stream', Buffer.from([0, 1, 2, 0xfe]), Buffer.from([0, 1, 3, 0xfe]), 'bytes'],
    ['image/png', picture(0), picture(255), 'image'],
    ['image/svg+xml', '<svg><g id="a"/></svg>', '<svg><g id="b"/></svg>', 'xml'],
  ])('of %s objects matches their kind', async (type, from, to, kind) => {
    const diff = await diffOf(type, from, to);
    expect(diff.kind).toBe(kind);
    expect(Object.values(diff.summary).some((count) => Number(count) > 0)).toBe(true);
  });

  test('falls back to plain text for malformed JSON and to bytes for different kinds, with the reason', async () => {
    const broken = await diffOf('application/json', '{"a":1}', '{"a":');
    expect(broken).toMatchObject({ kind: 'text', reason: expect.stringContaining('not well-formed JSON') });
    const moved = await diffOf('application/json', '{"a":1}', '<p>Sorry</p>', 'text/html');
    expect(moved).toMatchObject({ kind: 'bytes', reason: expect.stringContaining('an HTML page') });
    const gif = await diffOf('image/gif', 'GIF89a1', 'GIF89a2');
    expect(gif).toMatchObject({ kind: 'bytes', summary: { first_difference: 6 } });
  });

  test('of pages with the same text states that only the markup changed', async () => {
    const diff = await diffOf('text/html', '<p id="a">Same</p>', '<p id="b">Same</p>');
    expect(diff).toMatchObject({ hunks: [], reason: expect.stringContaining('markup') });
  });

  test('is made, stored and counted once, and has an entity tag', async () => {
    const event = await collectChange(node, web, { type: 'text/plain', from: 'a', to: 'b' });
    // Texts are extracted in the background and counted too, so they are read before counting.
    for (const { sha256 } of (await node.events()).slice(0, 2)) await node.read(`/archive/${sha256}/text`);
    const before = await node.read<Stats>('/api/stats');
    const answers = await Promise.all([1, 2, 3].map(() => node.node.fetch(`/api/events/${event}/diff`)));
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    expect(new Set(texts).size).toBe(1);
    expect((await node.read<Stats>('/api/stats')).derived_documents).toBe(before.derived_documents + 1);
    const etag = answers[0]?.headers.get('ETag') ?? '';
    const again = await node.node.fetch(`/api/events/${event}/diff`, { headers: { 'If-None-Match': etag } });
    expect(again.status).toBe(304);
  });
});

describe('there is no diff', () => {
  test('of an event without a previous version', async () => {
    web.script('/a', page('a'));
    const { id } = await node.watch(web.url('/a'));
    const { events } = await node.check([id]);
    expect(await problemOf(`/api/events/${events[0]}/diff`)).toMatchObject({
      status: 404,
      code: 'nothing_to_compare',
    });
  });

  test.each(['99', '0', 'x', '1e3'])('of an event %s that does not exist', async (id) => {
    expect(await problemOf(`/api/events/${id}/diff`)).toMatchObject({ status: 404, code: 'not_found' });
  });

  test('if the bytes of a version are missing, and no failure is stored', async () => {
    const event = await collectChange(node, web, { type: 'text/plain', from: 'lost', to: 'kept' });
    const sha256 = (await node.events('event_type=changed'))[0]?.previous_sha256 ?? '';
    const shard = join(sha256.slice(0, 2), sha256.slice(2, 4));
    await rm(join(node.node.dataFolder, 'blobs', shard, sha256));
    for (let time = 0; time < 2; time += 1)
      expect(await problemOf(`/api/events/${event}/diff`)).toMatchObject({ code: 'blob_damaged' });
  });
});

function picture(grey: number): Buffer {
  const image = new PNG({ width: 8, height: 8 });
  image.data.fill(255);
  image.data[0] = grey;
  return PNG.sync.write(image);
}
