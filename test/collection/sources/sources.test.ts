import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Source, WatchedSource } from '../../../shared/collection/source.ts';
import { closeScriptedWebs, page, redirect, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

let node: CollectingNode;

beforeEach(async () => {
  node = await openCollectingNode();
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

function idOf(url: string): string {
  return `so_${createHash('sha256').update(url).digest('hex').slice(0, 20)}`;
}

async function refusal(method: string, path: string, body: unknown) {
  const response = await node.node.sendJson(method, path, body);
  return { status: response.status, ...((await response.json()) as object) };
}

describe('POST /manage/sources', () => {
  test('returns 201 with the source and its location; the id is derived from the normalized URL', async () => {
    const fields = { name: 'Report', agency: 'Agency', tags: ['a', 'b'], every_minutes: 15 };
    const response = await node.node.sendJson('POST', '/manage/sources', {
      url: 'HTTP://Example.org:80/a/../b%7e?Q=1#part',
      ...fields,
    });
    expect(response.status).toBe(201);
    const source = (await response.json()) as WatchedSource;
    expect(response.headers.get('location')).toBe(`/manage/sources/${source.id}`);
    expect(source).toMatchObject({
      id: idOf('http://example.org/b%7e?Q=1'),
      url: 'http://example.org/b%7e?Q=1',
      state: 'new',
      last_checked_at: null,
      last_sha256: null,
      last_event_type: null,
      paused: false,
      ...fields,
    });
    const { items } = await node.read<{ items: Source[] }>('/api/sources');
    expect(Object.keys(items[0] as Source)).toEqual(
      expect.arrayContaining([
        'id',
        'url',
        'name',
        'agency',
        'tags',
        'last_checked_at',
        'state',
        'every_minutes',
      ]),
    );
    expect(items[0], 'settings are not public').not.toHaveProperty('headers');
  });

  test.each([
    ['http://example.org/page', 'http://EXAMPLE.org:80/page#other'],
    ['https://münchen.example/', 'https://xn--mnchen-3ya.example/'],
  ])('there is one source per URL: %s and %s are the same', async (first, second) => {
    const { id } = await node.watch(first);
    expect(await refusal('POST', '/manage/sources', { url: second })).toMatchObject({
      status: 409,
      code: 'source_exists',
      source: id,
    });
  });

  test.each([
    ['ftp://example.org/', '/url'],
    ['file:///etc/passwd', '/url'],
    ['javascript:alert(1)', '/url'],
    ['example.org', '/url'],
    ['http://user:secret@example.org/', '/url'],
    ['', '/url'],
  ])('%j is refused with a pointer', async (url, path) => {
    expect(await refusal('POST', '/manage/sources', { url })).toMatchObject({
      status: 422,
      code: 'invalid_field',
      errors: [{ path }],
    });
  });

  test('unknown fields and reserved headers are refused', async () => {
    const url = 'http://example.org/';
    expect(
      await refusal('POST', '/manage/sources', { url, added_at: '2020-01-01T00:00:00.000Z' }),
    ).toMatchObject({
      status: 422,
      code: 'unknown_field',
      errors: [{ path: '/added_at' }],
    });
    for (const name of ['Host', 'accept-encoding', 'If-None-Match', 'Range', 'Transfer-Encoding']) {
      expect(await refusal('POST', '/manage/sources', { url, headers: { [name]: 'x' } }), name).toMatchObject(
        {
          status: 422,
        },
      );
    }
    expect(await node.read('/api/sources')).toMatchObject({ total: 0 });
  });

  test('a removed source that is added again keeps its history', async () => {
    const web = await ScriptedWeb.open();
    web.script('/page', page('1'), page('2'));
    const { id } = await node.watch(web.url('/page'), { name: 'Before' });
    await node.check();
    expect((await node.node.fetchAsOwner(`/manage/sources/${id}`, { method: 'DELETE' })).status).toBe(204);
    expect(await node.watch(web.url('/page'), { name: 'After' })).toMatchObject({
      id,
      name: 'After',
      removed: false,
    });
    await node.check();
    expect(await node.timeline()).toEqual(['first_seen', 'changed']);
    expect(await node.read('/api/stats')).toMatchObject({ sources: 1, events: 2 });
  });
});

describe('PATCH and DELETE /manage/sources/<id>', () => {
  test('only given fields change; the list, the search and old events show the change', async () => {
    const web = await ScriptedWeb.open();
    web.script('/page', page('1'));
    const { id } = await node.watch(web.url('/page'), {
      name: 'Old',
      agency: 'Agency',
      tags: ['x'],
      headers: { Cookie: 'a' },
    });
    await node.check();
    const response = await node.node.sendJson('PATCH', `/manage/sources/${id}`, {
      name: 'Renamed',
      tags: ['y'],
    });
    expect(await response.json()).toMatchObject({
      name: 'Renamed',
      agency: 'Agency',
      tags: ['y'],
      headers: { Cookie: 'a' },
    });
    expect(await node.read('/api/sources?q=renamed&tag=y')).toMatchObject({ total: 1 });
    expect(await node.read('/api/sources?q=old')).toMatchObject({ total: 0 });
    expect(await node.read('/api/sources?tag=x')).toMatchObject({ total: 0 });
    expect(await node.events('q=renamed')).toHaveLength(1);
  });

  test('a removed source is not listed or counted; its events and objects stay readable', async () => {
    const web = await ScriptedWeb.open();
    web.script('/page', page('1'));
    const { id } = await node.watch(web.url('/page'));
    await node.check();
    await node.node.fetchAsOwner(`/manage/sources/${id}`, { method: 'DELETE' });
    expect(await node.read('/api/sources')).toMatchObject({ items: [], total: 0 });
    expect(await node.read('/api/stats')).toMatchObject({ sources: 0, events: 1, archived_objects: 1 });
    expect(await node.status()).toMatchObject({ sources: { total: 0, available: 0 } });
    const [event] = await node.events(`source=${id}`);
    expect((await node.node.fetch(`/archive/${event?.sha256}`)).status).toBe(200);
    expect(await node.source(id)).toMatchObject({ removed: true, next_check_at: null });
    for (const method of ['PATCH', 'DELETE'])
      expect(await refusal(method, `/manage/sources/${id}`, {})).toMatchObject({
        status: 404,
        code: 'not_found',
      });
  });

  test('the URL cannot be changed, and an unknown source is 404', async () => {
    const { id } = await node.watch('http://example.org/');
    expect(
      await refusal('PATCH', `/manage/sources/${id}`, { url: 'http://example.org/other' }),
    ).toMatchObject({
      status: 422,
      code: 'unknown_field',
    });
    expect(await refusal('PATCH', `/manage/sources/${idOf('x')}`, {})).toMatchObject({ status: 404 });
  });

  test('all management routes require the owner', async () => {
    const { id } = await node.watch('http://example.org/');
    for (const [method, path] of [
      ['GET', '/manage/sources'],
      ['POST', '/manage/sources'],
      ['PATCH', `/manage/sources/${id}`],
      ['DELETE', `/manage/sources/${id}`],
      ['POST', '/manage/collections'],
      ['POST', '/manage/sources/preview'],
    ] as const) {
      expect((await node.node.fetch(path, { method })).status, `${method} ${path}`).toBe(401);
    }
  });
});

describe('the ledger', () => {
  test('records each addition, change and removal of a source once', async () => {
    const { id } = await node.watch('http://example.org/', {
      name: 'One',
      headers: { Authorization: 'Bearer secret' },
    });
    await node.node.sendJson('PATCH', `/manage/sources/${id}`, { name: 'Two' });
    await node.node.sendJson('PATCH', `/manage/sources/${id}`, { name: 'Two' });
    await node.node.sendJson('PATCH', `/manage/sources/${id}`, { paused: true });
    await node.node.fetchAsOwner(`/manage/sources/${id}`, { method: 'DELETE' });
    await node.watch('http://example.org/');
    const { items } = await node.read<{ items: { type: string; subject: string }[] }>('/api/ledger');
    expect(items.map(({ type, subject }) => [type, subject])).toEqual([
      ['source.added', id],
      ['source.changed', id],
      ['source.changed', id],
      ['source.changed', id],
      ['source.added', id],
    ]);
    expect(await node.read('/api/ledger/verify')).toMatchObject({ ok: true });
  });
});

describe('POST /manage/sources/preview', () => {
  test('fetches once, stores nothing, and returns what would be stored', async () => {
    const web = await ScriptedWeb.open();
    web.script('/old', redirect('/new'));
    web.script('/new', page('<title>A &amp; B</title>'));
    const { id } = await node.watch(web.url('/old'));
    const response = await node.node.sendJson('POST', '/manage/sources/preview', {
      url: web.url('/old#part'),
    });
    expect(await response.json()).toMatchObject({
      url: web.url('/old'),
      final_url: web.url('/new'),
      status: 200,
      error: null,
      content_type: 'text/html',
      sha256: createHash('sha256').update('<title>A &amp; B</title>').digest('hex'),
      bytes: 24,
      title: 'A & B',
      page_label: null,
      watched_as: id,
      private_address: true,
    });
    expect(web.requests('/new')).toHaveLength(1);
    expect(await node.read('/api/stats')).toMatchObject({ observations: 0, archived_objects: 0, events: 0 });
    expect(await node.retrievals(id)).toEqual([]);
  });

  test.each([
    ['<html><body><div id="app"></div><script src="app.js"></script></body></html>', true],
    ['<html><body><img src="logo.png">Loading…<script>draw()</script></body></html>', true],
    ['<html><body><div id="app"></div></body></html>', false],
    [`<html><body><p>${'A word of it. '.repeat(9)}</p><script>count()</script></body></html>`, false],
  ])('says of %s whether it is drawn by script: %s', async (html, drawn) => {
    const web = await ScriptedWeb.open();
    web.script('/page', page(html));
    const response = await node.node.sendJson('POST', '/manage/sources/preview', { url: web.url('/page') });
    expect(await response.json()).toMatchObject({ drawn_by_script: drawn });
  });

  test('returns a failure with the error code that a check would record', async () => {
    const web = await ScriptedWeb.open();
    web.script(
      '/robots.txt',
      page('User-agent: *\nDisallow: /', { headers: { 'Content-Type': 'text/plain' } }),
    );
    const response = await node.node.sendJson('POST', '/manage/sources/preview', { url: web.url('/page') });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      error: 'robots_disallowed',
      status: null,
      sha256: null,
      watched_as: null,
    });
  });
});

test('header values appear neither in public responses nor in ledger records', async () => {
  await node.watch('http://example.org/', { headers: { 'X-Key': 'sesame-sesame' } });
  for (const path of ['/api/sources', '/api/ledger', '/api/status', '/api/events'])
    expect(await (await node.node.fetch(path)).text()).not.toContain('sesame');
  await node.node.close();
  const database = await readFile(join(node.node.dataFolder, 'strongroom.db'), 'latin1');
  expect(database.match(/sesame-sesame/g), 'once, in the source’s own row').toHaveLength(1);
});
