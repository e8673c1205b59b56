import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { fingerprintOf } from '../../../server/ledger/entry.ts';
import { openForWriting } from '../../../server/store/sqlite/engine/open.ts';
import type { ApprovedLinks } from '../../../shared/collection/follow.ts';
import type { WatchedSource } from '../../../shared/collection/source.ts';
import { ManualClock } from '../../support/manualClock.ts';
import { closeScriptedWebs, page, redirect, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeAlteredNodes, temporaryFolder } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';
import { followedList, foundLinks, pathsOf, xml } from './support.ts';

let web: ScriptedWeb;
let node: CollectingNode;

beforeEach(async () => {
  web = await ScriptedWeb.open();
  node = await openCollectingNode();
});
afterEach(async () => {
  await closeAlteredNodes();
  await closeScriptedWebs();
});

const found = (query?: string) => foundLinks(node, query);
const foundPaths = (query?: string) => pathsOf(found(query), web);

async function watchedPaths(): Promise<string[]> {
  const { items } = await node.read<{ items: WatchedSource[] }>('/manage/sources?limit=500');
  return items.map(({ url }) => url.replace(web.url(''), '')).sort();
}

async function decide(verb: 'approve' | 'refuse', chosen: object) {
  const response = await node.node.sendJson('POST', `/manage/found/${verb}`, chosen);
  expect(response.status).toBe(200);
  return (await response.json()) as ApprovedLinks & { refused: number };
}

function html(...links: string[]): ReturnType<typeof page> {
  return page(`<!doctype html><title>List</title>${links.join('\n')}`, {
    headers: { 'Content-Type': 'text/html' },
  });
}

const followed = (body: ReturnType<typeof page>, follow: object) => followedList({ node, web }, body, follow);

describe('the links of a page', () => {
  test('what matches waits for approval, once, with its text; approved it becomes a source that names where it was found', async () => {
    const source = await followed(
      html(
        '<a href="/a.pdf#page=2">Report  A</a>',
        '<a href="a.pdf">again</a>',
        '<a href="/b.pdf?v=1&amp;w=2"><img alt="Report B"></a>',
        '<a href="/c.html">Page</a>',
        '<a href="mailto:a@b.example">Mail</a><a href="javascript:x()">Script</a><a href="#top">Top</a><a>None</a>',
        '<a href="http://user:secret@127.0.0.1/d.pdf">Secret</a><a href="http://[">Broken</a>',
      ),
      { kind: 'links', types: ['application/pdf'] },
    );
    expect(await found()).toMatchObject([
      { url: web.url('/a.pdf'), title: 'Report A', state: 'waiting', unlinked_at: null },
      { url: web.url('/b.pdf?v=1&w=2'), title: 'Report B', found_in: { id: source.id } },
    ]);
    expect(source).toMatchObject({
      found_waiting: 2,
      follow_run: { matched: 2, complete: true, problem: null },
    });
    expect(await watchedPaths(), 'nothing is watched without approval').toEqual(['/list']);
    const [first] = await found();
    expect(await decide('approve', { ids: [first?.id] })).toEqual({
      added: 1,
      already: 0,
      sources: [first?.id],
    });
    expect(await node.source(first?.id ?? '')).toMatchObject({
      name: 'Report A',
      found_in: source.id,
      follow: null,
      unlinked_at: null,
    });
    expect((await node.source(source.id)).found_waiting).toBe(1);
  });

  test('with `approve: false` sources are added in the round that found them, and checked in the next; they do not follow', async () => {
    web.script('/a', html('<a href="/b">B</a>'));
    await followed(html('<a href="/a">A</a>'), { kind: 'links', approve: false });
    expect(await watchedPaths()).toEqual(['/a', '/list']);
    expect(web.requests('/a')).toHaveLength(0);
    expect(await node.check()).toMatchObject({ checked: 2 });
    expect(web.requests('/a')).toHaveLength(1);
    expect(await watchedPaths()).toEqual(['/a', '/list']);
    expect((await node.read<{ ok: boolean }>('/api/ledger/verify')).ok).toBe(true);
  });

  test('a source takes over agency, tags and schedule of the one in which it was found, and no headers', async () => {
    web.script('/list', html('<a href="/a">A</a>'));
    const given = { agency: 'Office', tags: ['x'], every: '0 8 * * 1-5', time_zone: 'Europe/Berlin' };
    await node.watch(web.url('/list'), {
      ...given,
      headers: { 'X-Secret': 'value' },
      follow: { kind: 'links', limit: 5, approve: false },
    });
    await node.check();
    const { items } = await node.read<{ items: WatchedSource[] }>('/manage/sources?q=A');
    expect(items.find(({ url }) => url.endsWith('/a'))).toMatchObject({ ...given, headers: {} });
  });

  test('without a match only the same host is followed; with one the match decides', async () => {
    const other = await ScriptedWeb.open();
    const links = html(`<a href="${other.url('/a')}">A</a><a href="/b">B</a>`);
    const { id } = await followed(links, { kind: 'links' });
    expect(await foundPaths()).toEqual(['/b']);
    const follow = { kind: 'links', match: '/[a-z]$', limit: 5 };
    await node.node.sendJson('PATCH', `/manage/sources/${id}`, { follow });
    await node.check([id]);
    expect((await found()).map(({ url }) => url).sort()).toEqual([web.url('/b'), other.url('/a')].sort());
  });

  test('relative addresses are resolved against the first base, and against the address that a redirect led to', async () => {
    web.script('/list', redirect('/dir/list'));
    web.script(
      '/dir/list',
      html('<base href="sub/"><base href="/no/"><a href="a">A</a><a href="/list">self</a>'),
    );
    await node.watch(web.url('/list'), { follow: { kind: 'links', limit: 5 } });
    await node.check();
    expect(await foundPaths()).toEqual(['/dir/sub/a']);
  });

  test('at most `limit` wait or are added; a refused one makes room and is not offered again', async () => {
    const source = await followed(html(...['a', 'b', 'c', 'd'].map((name) => `<a href="/${name}">x</a>`)), {
      kind: 'links',
      limit: 2,
    });
    expect(await foundPaths()).toEqual(['/a', '/b']);
    const [first] = (await found()).filter(({ url }) => url.endsWith('/a'));
    expect(await decide('refuse', { ids: [first?.id] })).toEqual({ refused: 1 });
    await node.check([source.id]);
    expect(await foundPaths('state=waiting')).toEqual(['/b', '/c']);
    expect(await foundPaths('state=refused')).toEqual(['/a']);
    expect(await decide('approve', { all: true, source: source.id })).toMatchObject({ added: 2 });
    await node.check([source.id]);
    expect(await foundPaths('state=waiting'), 'two were added').toEqual([]);
    expect(await watchedPaths()).toEqual(['/b', '/c', '/list']);
  });

  test('a source that its owner stopped watching makes room for another', async () => {
    const { id } = await followed(html('<a href="/a">A</a><a href="/b">B</a>'), {
      kind: 'links',
      limit: 1,
      approve: false,
    });
    expect(await watchedPaths()).toEqual(['/a', '/list']);
    await node.check([id]);
    expect(await watchedPaths(), 'the limit is reached').toEqual(['/a', '/list']);
    const [child] = await found();
    expect((await node.node.fetchAsOwner(`/manage/sources/${child?.id}`, { method: 'DELETE' })).status).toBe(
      204,
    );
    await node.check([id]);
    expect(await watchedPaths()).toEqual(['/b', '/list']);
  });

  test.each([true, false])(
    'what a source with times brings is first checked at its first time (approval: %s)',
    async (approve) => {
      const clock = new ManualClock('2026-11-20T10:00:00.000Z');
      node = await openCollectingNode({}, { clock });
      web.script('/list', html('<a href="/a">A</a>'));
      await node.watch(web.url('/list'), {
        every: '0 8 * * *',
        time_zone: 'Europe/Berlin',
        follow: { kind: 'links', limit: 5, approve },
      });
      await node.check();
      if (approve) await decide('approve', { all: true });
      const { items } = await node.read<{ items: WatchedSource[] }>('/manage/sources?q=A');
      const due = items.find(({ url }) => url.endsWith('/a'))?.next_check_at;
      expect(due).toMatch(/^2026-11-21T07:00:/);
    },
  );

  test('a removed link is reported, also at the source that it brought, and so is its return', async () => {
    web.script('/a', page('text'));
    const both = html('<a href="/a">A</a><a href="/b">B</a>');
    web.script('/list', both, html('<a href="/b">B</a>'), html('<a href="/a">A</a>'));
    const { id } = await node.watch(web.url('/list'), {
      follow: { kind: 'links', limit: 5, approve: false },
    });
    await node.check();
    const child = (await found()).find(({ url }) => url.endsWith('/a'))?.id ?? '';
    await node.check();
    const { unlinked_at } = await node.source(child);
    expect(unlinked_at).toMatch(/^\d{4}-/);
    expect(await found(`source=${id}`)).toContainEqual(expect.objectContaining({ id: child, unlinked_at }));
    expect((await node.source(child)).removed, 'it stays watched').toBe(false);
    await node.check();
    expect((await node.source(child)).unlinked_at).toBeNull();
  });

  test('a bot wall in place of the page removes no link', async () => {
    web.script(
      '/list',
      html('<a href="/a">A</a>'),
      page('<!doctype html><title>Just a moment...</title><p>wait', {
        headers: { 'Content-Type': 'text/html' },
      }),
    );
    await node.watch(web.url('/list'), { follow: { kind: 'links', limit: 5 } });
    await node.check();
    await node.check();
    expect(await found()).toMatchObject([{ unlinked_at: null }]);
  });

  test('a source that its owner stopped watching is not added again', async () => {
    web.script('/a', page('text'));
    web.script('/list', html('<a href="/a">A</a>'), html('<a href="/a">A</a><a href="/b">B</a>'));
    await node.watch(web.url('/list'), { follow: { kind: 'links', limit: 5, approve: false } });
    await node.check();
    const child = (await found())[0]?.id ?? '';
    expect((await node.node.fetchAsOwner(`/manage/sources/${child}`, { method: 'DELETE' })).status).toBe(204);
    await node.check();
    expect(await watchedPaths()).toEqual(['/b', '/list']);
  });

  test('what a crash left between finding and adding is added in the next round', async () => {
    const dataFolder = join(await temporaryFolder(), 'data');
    node = await openCollectingNode({}, { dataFolder });
    web.script('/list', html('<a href="/a">A</a>'));
    const { id } = await node.watch(web.url('/list'), { follow: { kind: 'links', limit: 5 } });
    await node.check();
    await node.node.close();
    const database = openForWriting(join(dataFolder, 'strongroom.db'));
    const follow = JSON.stringify({ kind: 'links', limit: 5, approve: false });
    database.prepare('UPDATE sources SET follow = ?').run(follow);
    database.prepare('UPDATE follow_runs SET settings = ?').run(fingerprintOf(JSON.parse(follow) as object));
    database.close();
    node = await openCollectingNode({}, { dataFolder });
    await node.check([id]);
    expect(await watchedPaths()).toEqual(['/a', '/list']);
  });

  test('a version that is no page says why nothing is read', async () => {
    const source = await followed(page('%PDF-1.4', { headers: { 'Content-Type': 'application/pdf' } }), {
      kind: 'links',
    });
    expect(source.follow_run).toMatchObject({
      matched: 0,
      problem: 'The newest version is not a page with links.',
    });
  });
});

describe('a preview', () => {
  interface Preview {
    listed: number;
    matched: number;
    known: number;
    added: number;
    items: { url: string; title: string }[];
    complete: boolean;
    problem: string | null;
  }
  const preview = async (body: object) => {
    const response = await node.node.sendJson('POST', '/manage/found/preview', body);
    return { status: response.status, body: (await response.json()) as Preview };
  };
  /** What a preview must not change. */
  const everything = async () => {
    const { items } = await node.read<{ items: object[] }>('/manage/sources?limit=500');
    const { total } = await node.read<{ total: number }>('/api/ledger');
    const { held_bytes } = await node.read<{ held_bytes: number }>('/manage/storage');
    return { items, total, held_bytes, found: await found() };
  };

  test('of an address lists what would be added, within the limit, and records nothing', async () => {
    const links = ['a', 'b', 'c'].map((name) => `<a href="/${name}.pdf">Report ${name}</a>`);
    web.script(
      '/list',
      html(...links, '<a href="/other">Other</a>', '<a href="http://10.1.2.3/x.pdf">In</a>'),
    );
    await node.watch(web.url('/b.pdf'));
    const before = await everything();
    const follow = { kind: 'links', types: ['pdf'], limit: 50 };
    expect(await preview({ url: web.url('/list'), follow })).toMatchObject({
      status: 200,
      body: {
        matched: 3,
        known: 1,
        added: 2,
        complete: true,
        problem: null,
        items: [
          { url: web.url('/a.pdf'), title: 'Report a' },
          { url: web.url('/c.pdf'), title: 'Report c' },
        ],
      },
    });
    const limited = await preview({ url: web.url('/list'), follow: { ...follow, limit: 1 } });
    expect(limited.body).toMatchObject({ added: 1, items: [{ title: 'Report a' }] });
    expect(await everything()).toEqual(before);
  });

  test('of a source reads its newest version, without a request', async () => {
    const links = Array.from({ length: 130 }, (_, index) => `<a href="/${index}">${index}</a>`);
    const { id } = await followed(html(...links), { kind: 'links', match: '/[0-4]$' });
    const requests = web.requests('/list').length;
    const { body } = await preview({ url: web.url('/list'), follow: { kind: 'links', limit: 500 } });
    expect(body).toMatchObject({ listed: 130, matched: 130, known: 5, added: 125, complete: true });
    expect(body.items).toHaveLength(100);
    expect(web.requests('/list')).toHaveLength(requests);
    // Five wait already, so there is room for one.
    const limited = await preview({ url: web.url('/list'), follow: { kind: 'links', limit: 6 } });
    expect(limited.body).toMatchObject({ known: 5, added: 1 });
    expect((await node.source(id)).follow).toMatchObject({ match: '/[0-4]$' });
  });

  test('says why nothing was read, and refuses an expression that cannot be used', async () => {
    const follow = { kind: 'feed', limit: 5 };
    web.script('/list', html('<a href="/a">A</a>'));
    web.script('/gone', page('no', { status: 410 }));
    web.script(
      '/wall',
      page('<title>Just a moment...</title><p>wait', { headers: { 'Content-Type': 'text/html' } }),
    );
    const problemOf = async (body: object) => (await preview(body)).body.problem;
    expect(await problemOf({ url: web.url('/list'), follow })).toContain('is not a feed');
    expect(await problemOf({ url: web.url('/gone'), follow })).toContain('could not be fetched: ');
    expect(await problemOf({ url: web.url('/wall'), follow: { ...follow, kind: 'links' } })).toContain(
      'a check for robots or an error page',
    );
    const profile = `pf_${'0'.repeat(20)}`;
    expect(await problemOf({ url: web.url('/list'), follow, profile })).toContain('after the first check');
    const { status } = await preview({ url: web.url('/list'), follow: { ...follow, match: '(?=x)' } });
    expect(status).toBe(422);
    const visitor = await node.node.fetch('/manage/found/preview', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ url: web.url('/list'), follow }),
    });
    expect(visitor.status).toBe(401);
  });

  test('of an index reads its first sitemaps only', async () => {
    const at = (name: string) => `<sitemap><loc>${web.url(name)}</loc></sitemap>`;
    web.script('/list', xml(`<sitemapindex>${['/s1', '/s2', '/s3', '/s4'].map(at).join('')}</sitemapindex>`));
    for (const name of ['1', '2', '3', '4'])
      web.script(`/s${name}`, xml(`<urlset><url><loc>${web.url(`/p${name}`)}</loc></url></urlset>`));
    const { body } = await preview({ url: web.url('/list'), follow: { kind: 'sitemap', limit: 50 } });
    expect(body).toMatchObject({
      added: 3,
      complete: false,
      problem: 'Only the first 3 of 4 sitemaps were read.',
    });
    expect(web.requests('/s4')).toHaveLength(0);
  });
});
