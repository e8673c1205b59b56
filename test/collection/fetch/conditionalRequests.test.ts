import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { closeScriptedWebs, page, ScriptedWeb, tagged } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { openCollectingNode } from '../support.ts';

let web: ScriptedWeb;

beforeEach(async () => {
  web = await ScriptedWeb.open();
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

const broken = page('broken', { status: 500 });

describe('conditional requests', () => {
  test('a request has the validators of the page, and 304 is an observation of the same digest', async () => {
    const node = await openCollectingNode();
    web.script('/page', tagged('text', '"v1"'));
    const { id } = await node.watch(web.url('/page'));
    await node.check();
    expect(await node.check()).toMatchObject({ unchanged: 1, failed: 0 });
    const [first, second] = web.requests('/page');
    expect(first?.headers).not.toHaveProperty('if-none-match');
    expect(second?.headers).toMatchObject({ 'if-none-match': '"v1"' });
    const [, retrieval] = await node.retrievals(id);
    expect(retrieval).toMatchObject({
      status: 304,
      error: null,
      sha256: sha256('text'),
      content_type: 'text/html',
    });
    expect(await node.read('/api/stats')).toMatchObject({ observations: 2, events: 1 });
  });

  test('validators are replaced after each success and kept after an error', async () => {
    const node = await openCollectingNode();
    const served = { Date: 'Fri, 20 Nov 2026 10:00:00 GMT' };
    web.script(
      '/page',
      page('a', { headers: { ETag: '"1"' } }),
      page('a', { headers: { ETag: 'W/"2"', 'Last-Modified': 'Thu, 19 Nov 2026 10:00:00 GMT', ...served } }),
      broken,
      page('a', { headers: { 'Last-Modified': served.Date, ...served } }),
      page('a'),
    );
    await node.watch(web.url('/page'));
    for (let round = 0; round < 5; round += 1) await node.check();
    const conditions = web
      .requests('/page')
      .map(({ headers }) => [headers['if-none-match'], headers['if-modified-since']]);
    expect(conditions).toEqual([
      [undefined, undefined],
      ['"1"', undefined],
      ['W/"2"', 'Thu, 19 Nov 2026 10:00:00 GMT'],
      ['W/"2"', 'Thu, 19 Nov 2026 10:00:00 GMT'],
      // Modified in the second in which it was served: the date would not show another change in that second.
      [undefined, undefined],
    ]);
  });

  test('validators are sent to the URL that issued them, not to the URL that redirects there', async () => {
    const node = await openCollectingNode();
    web.script('/old', page('', { status: 301, headers: { Location: '/new' } }));
    web.script('/new', tagged('text', '"v1"'));
    await node.watch(web.url('/old'));
    await node.check();
    expect(await node.check()).toMatchObject({ unchanged: 1 });
    expect(web.requests('/old')[1]?.headers).not.toHaveProperty('if-none-match');
    expect(web.requests('/new')[1]?.headers).toMatchObject({ 'if-none-match': '"v1"' });
  });

  test('a missing object is requested without validators, which repairs it', async () => {
    const node = await openCollectingNode();
    web.script('/page', tagged('text', '"v1"'));
    await node.watch(web.url('/page'));
    await node.check();
    const digest = sha256('text');
    await rm(join(node.node.dataFolder, 'blobs', digest.slice(0, 2), digest.slice(2, 4), digest));
    await node.check();
    expect(web.requests('/page')[1]?.headers).not.toHaveProperty('if-none-match');
    expect(await (await node.node.fetch(`/archive/${digest}`)).text()).toBe('text');
  });
});
