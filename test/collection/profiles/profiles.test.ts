import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { WatchedSource } from '../../../shared/collection/source.ts';
import type { Withholding } from '../../../shared/node/withheld.ts';
import { closeScriptedWebs, page, redirect, ScriptedWeb, tagged } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { handIn } from '../handedIn/support.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';
import {
  addProfile,
  CANARY,
  cookie,
  cookiesOf,
  LOGIN_PAGE,
  members,
  readProfile,
  scriptMembers,
} from './support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

async function refused(node: CollectingNode, method: string, path: string, body?: unknown) {
  const response = await node.node.sendJson(method, path, body);
  const { code, errors } = (await response.json()) as { code: string; errors?: { path: string }[] };
  return [response.status, code, errors?.[0]?.path];
}

describe('a profile', () => {
  test('is made of a cookie file, keeps what belongs to its site and shows no secret', async () => {
    const node = await openCollectingNode();
    const netscape = [
      '# Netscape HTTP Cookie File',
      `#HttpOnly_.example.org\tTRUE\t/\tTRUE\t4102444800\tsid\t${CANARY}`,
      'www.example.org\tFALSE\t/a\tFALSE\t0\tseen\tyes',
      '.example.org\tTRUE\t/\tFALSE\t1000000000\told\tgone',
      '.tracker.example\tTRUE\t/\tTRUE\t0\tid\tother',
      '',
    ].join('\n');
    const profile = await addProfile(node, {
      site: 'https://www.example.org/start',
      netscape,
      storage_state: undefined,
    });
    expect(profile).toMatchObject({
      id: expect.stringMatching(/^pf_[0-9a-f]{20}$/),
      name: 'example.org',
      site: 'example.org',
      cookies: 2,
      storage_items: 0,
      expires_at: '2100-01-01T00:00:00.000Z',
      state: 'untried',
      last_used_at: null,
      expired_at: null,
      sources: 0,
      left_out: 2,
    });
    const { left_out: _, ...shown } = profile;
    expect(await node.read('/manage/profiles')).toMatchObject({ items: [shown], total: 1 });
    expect(await readProfile(node, profile.id)).toEqual(shown);
    const { mode } = await stat(join(node.node.dataFolder, 'profiles.key'));
    expect(mode & 0o777).toBe(0o600);
    expect((await node.node.fetch('/manage/profiles')).status).toBe(401);
  });

  test.each([
    ['without anything of the site', { site: 'other.example' }, '/site'],
    ['for a public suffix', { site: 'co.uk' }, '/site'],
    ['for no site', { site: 'ftp://127.0.0.1/' }, '/site'],
    ['with an expired cookie only', { storage_state: { cookies: [cookie('x', { expires: 1 })] } }, '/site'],
    ['with a file that is none', { storage_state: undefined, netscape: 'sid=1' }, '/netscape'],
    [
      'with too many cookies',
      {
        storage_state: undefined,
        cookies: Array.from({ length: 501 }, (_, n) => cookie('x', { name: `c${n}` })),
      },
      '/site',
    ],
    [
      'of several sites without a name',
      { site: undefined, storage_state: { cookies: [cookie(), cookie('x', { domain: 'a.example' })] } },
      '/site',
    ],
  ])('is refused %s', async (_, fields, path) => {
    const node = await openCollectingNode();
    const body = { site: '127.0.0.1', storage_state: { cookies: [cookie()] }, ...fields };
    expect(await refused(node, 'POST', '/manage/profiles', body)).toEqual([422, 'invalid_profile', path]);
    expect(await node.read('/manage/profiles')).toMatchObject({ total: 0 });
  });

  test('takes its site from the cookies if they are of one', async () => {
    const node = await openCollectingNode();
    expect(await addProfile(node, { site: undefined })).toMatchObject({ site: '127.0.0.1', cookies: 1 });
  });

  test('is for sources of its site only, and visitors do not learn of it', async () => {
    const node = await openCollectingNode();
    const web = await ScriptedWeb.open();
    scriptMembers(web);
    const { id } = await addProfile(node);
    const of = (url: string) => refused(node, 'POST', '/manage/sources', { url, profile: id });
    expect(await of('https://example.org/')).toEqual([422, 'invalid_field', '/profile']);
    expect(
      await refused(node, 'POST', '/manage/sources', {
        url: web.url('/'),
        profile: 'pf_00000000000000000000',
      }),
    ).toEqual([422, 'invalid_field', '/profile']);
    const source = await node.watch(web.url('/'), { profile: id });
    expect(source).toMatchObject({ profile: id, login: 'untried', login_expired_at: null });
    const shown = await (await node.node.fetch(`/api/sources/${source.id}`)).text();
    expect(shown).not.toMatch(/profile|login|pf_/);
    expect(await (await node.node.fetch('/api/dump.jsonl')).text()).not.toContain(id);
    expect(await readProfile(node, id)).toMatchObject({ sources: 1 });
    expect(await node.read('/api/ledger/verify')).toMatchObject({ ok: true });
  });
});

describe('a source that is watched with a profile', () => {
  test('gets what only the login shows, which is withheld from visitors from birth', async () => {
    const node = await openCollectingNode();
    const web = await ScriptedWeb.open();
    scriptMembers(web);
    const { id: profile } = await addProfile(node);
    const { id } = await node.watch(web.url('/'), { profile });
    expect(await node.check()).toMatchObject({ failed: 0, changed: 1 });
    const [retrieval] = await node.retrievals(id);
    expect(retrieval).toMatchObject({ status: 200, error: null, redirects: [] });
    expect(retrieval?.request?.headers).toContainEqual(['cookie', null]);
    const { sha256 = '' } = retrieval as { sha256?: string };
    const refusal = await node.node.fetch(`/archive/${sha256}`);
    expect(refusal.status).toBe(451);
    expect(await refusal.json()).toMatchObject({ code: 'withheld', reason: 'login' });
    expect(await (await node.node.fetchAsOwner(`/archive/${sha256}`)).text()).toContain('For members.');
    // A title is content: the source is not named after it.
    expect(await node.source(id)).toMatchObject({ name: '', login: 'works' });
    expect(await readProfile(node, profile)).toMatchObject({
      state: 'works',
      last_used_at: expect.any(String),
    });
    expect(cookiesOf(web, '/robots.txt')).toEqual([undefined]);
    // Once for the same bytes: what the owner shows stays shown.
    await node.check();
    const { items } = await node.read<{ items: Withholding[] }>('/api/withheld');
    expect(items).toMatchObject([{ retrieval: retrieval?.id, reason: 'login' }]);
    await node.node.sendJson('DELETE', '/manage/withheld', { retrieval: retrieval?.id });
    await node.check();
    expect((await node.node.fetch(`/archive/${sha256}`)).status).toBe(200);
    web.script('/', members('<p>Another version.</p>'));
    await node.check();
    const newest = (await node.source(id)).last_sha256;
    expect((await node.node.fetch(`/archive/${newest}`)).status).toBe(451);
    expect(await node.read('/api/ledger/verify')).toMatchObject({ ok: true });
  });

  test('sends the cookies to the site only, by the rules of cookies, also behind redirects', async () => {
    const names = ['login.example', 'www.login.example', 'other.example'];
    const lookup = async (hostname: string) => {
      expect(names).toContain(hostname);
      return [{ address: '127.0.0.1', family: 4 }];
    };
    const node = await openCollectingNode({}, { network: { lookup } });
    const web = await ScriptedWeb.open();
    const at = (path: string, host: string) => web.url(path, host);
    web.script('/a', redirect(at('/b', 'www.login.example')));
    web.script('/b', redirect(at('/c', 'other.example')));
    web.script('/c', redirect(at('/d/e', 'login.example')));
    web.script('/d/e', page('here'));
    const { id: profile } = await addProfile(node, {
      site: 'login.example',
      storage_state: {
        cookies: [
          cookie('for-all-hosts', { name: 'all', domain: '.login.example' }),
          cookie('for-one-host', { name: 'one', domain: 'login.example' }),
          cookie('encrypted', { name: 'secure', domain: '.login.example', secure: true }),
          cookie('below-d', { name: 'path', domain: '.login.example', path: '/d' }),
          cookie('not-below', { name: 'nopath', domain: '.login.example', path: '/d/e/' }),
          cookie('for-others', { name: 'other', domain: 'other.example' }),
        ],
      },
    });
    await node.watch(at('/a', 'login.example'), { profile, ignore_robots: true });
    expect(await node.check()).toMatchObject({ failed: 0 });
    expect(['/a', '/b', '/c', '/d/e'].map((path) => cookiesOf(web, path)[0])).toEqual([
      'all=for-all-hosts; one=for-one-host',
      'all=for-all-hosts',
      undefined,
      'path=below-d; all=for-all-hosts; one=for-one-host',
    ]);
  });

  test('keeps the cookies that the site sets, so that a session that rotates goes on', async () => {
    const node = await openCollectingNode();
    const web = await ScriptedWeb.open();
    const set = (value: string) => ({ 'Set-Cookie': `sid=${value}; Path=/; HttpOnly` });
    web.script('/', members('one', CANARY, set('second-value')), members('two', 'second-value'));
    web.script('/login?next=x', LOGIN_PAGE);
    const { id: profile } = await addProfile(node);
    const { id } = await node.watch(web.url('/'), { profile });
    await node.check();
    await node.check();
    expect(cookiesOf(web, '/')).toEqual([`sid=${CANARY}`, 'sid=second-value']);
    for (const { headers } of await node.retrievals(id))
      expect(JSON.stringify(headers)).not.toMatch(/set-cookie|second-value/i);
    expect(await readProfile(node, profile)).toMatchObject({ cookies: 1, state: 'works' });
  });

  test('shares nothing that it got with a source that is watched without', async () => {
    const node = await openCollectingNode();
    const web = await ScriptedWeb.open();
    web.script('/a', tagged('one', '"v1"'));
    web.script('/b', page('public'));
    const { id: profile } = await addProfile(node);
    await node.watch(web.url('/a'), { profile });
    const other = await node.watch(web.url('/b'));
    await node.check();
    expect(cookiesOf(web, '/b')).toEqual([undefined]);
    expect((await node.node.fetch(`/archive/${(await node.source(other.id)).last_sha256}`)).status).toBe(200);
    // Without the login, the server is not told which version the login got.
    const [source] = (await node.read<{ items: { id: string; url: string }[] }>('/manage/sources?q=a')).items;
    await node.node.sendJson('PATCH', `/manage/sources/${source?.id}`, { profile: null });
    await node.check([source?.id ?? '']);
    const last = web.requests('/a').at(-1)?.headers;
    expect(last).not.toHaveProperty('cookie');
    expect(last).not.toHaveProperty('if-none-match');
    expect(await node.source(source?.id ?? '')).toMatchObject({ profile: null, login: null });
  });

  test('is not fetched once its profile is deleted, says so, and goes on with another', async () => {
    const node = await openCollectingNode();
    const web = await ScriptedWeb.open();
    scriptMembers(web);
    web.script('/open', page('for all'));
    const { id: profile } = await addProfile(node);
    const { id } = await node.watch(web.url('/'), { profile, every_minutes: 7 });
    await node.watch(web.url('/open'));
    await node.check();
    const asked = web.requests('/').length;
    expect((await node.node.fetchAsOwner(`/manage/profiles/${profile}`, { method: 'DELETE' })).status).toBe(
      204,
    );
    expect(await node.source(id)).toMatchObject({ profile: null, login: 'missing' });
    expect(await node.check()).toMatchObject({ checked: 2, failed: 1, unchanged: 1 });
    expect(web.requests('/')).toHaveLength(asked);
    const source = await node.source(id);
    expect(source).toMatchObject({ last_error: 'profile_missing', state: 'available' });
    const [checked, next] = [source.last_checked_at, source.next_check_at].map((at) => Date.parse(at ?? ''));
    expect(((next ?? 0) - (checked ?? 0)) / 60_000).toBeCloseTo(7, 0);
    expect(await node.timeline()).toEqual(['first_seen', 'first_seen']);
    const { id: another } = await addProfile(node);
    await node.node.sendJson('PATCH', `/manage/sources/${id}`, { profile: another });
    expect(await node.check([id])).toMatchObject({ failed: 0, unchanged: 1 });
    expect(await node.source(id)).toMatchObject({ profile: another, login: 'works', last_error: null });
  });

  test('is not fetched with a damaged key, while other sources are; the problem says what to do', async () => {
    const node = await openCollectingNode();
    const web = await ScriptedWeb.open();
    scriptMembers(web);
    web.script('/open', page('for all'));
    const { id: profile } = await addProfile(node);
    const { id } = await node.watch(web.url('/'), { profile });
    await node.watch(web.url('/open'));
    const key = join(node.node.dataFolder, 'profiles.key');
    for (const damaged of ['not a key', '0'.repeat(64)]) {
      await writeFile(key, damaged);
      expect(await node.check()).toMatchObject({ checked: 2, failed: 1 });
      expect(web.requests('/')).toEqual([]);
      expect(await node.source(id)).toMatchObject({ last_error: 'profile_missing', login: 'unreadable' });
      expect(await readProfile(node, profile)).toMatchObject({ state: 'unreadable' });
    }
    await writeFile(key, 'not a key');
    const content = { storage_state: { cookies: [cookie()] } };
    expect(await refused(node, 'PATCH', `/manage/profiles/${profile}`, content)).toEqual([
      500,
      'profile_key_damaged',
      undefined,
    ]);
    // Without profiles, nothing needs the old key.
    await node.node.fetchAsOwner(`/manage/profiles/${profile}`, { method: 'DELETE' });
    const { id: next } = await addProfile(node);
    await node.node.sendJson('PATCH', `/manage/sources/${id}`, { profile: next });
    expect(await node.check([id])).toMatchObject({ failed: 0 });
  });
});

test('a test fetch can be made with a profile', async () => {
  const node = await openCollectingNode();
  const web = await ScriptedWeb.open();
  scriptMembers(web);
  const { id: profile } = await addProfile(node);
  const preview = async (fields: object) =>
    (await node.node.sendJson('POST', '/manage/sources/preview', { url: web.url('/'), ...fields })).json();
  expect(await preview({ profile })).toMatchObject({ error: null, title: 'Mine', final_url: web.url('/') });
  expect(await preview({})).toMatchObject({ title: 'Log in', error: null });
  await node.node.sendJson('PATCH', `/manage/profiles/${profile}`, {
    cookies: [cookie('too-old-by-now')],
  });
  expect(await preview({ profile })).toMatchObject({ error: 'profile_expired' });
  expect(await readProfile(node, profile)).toMatchObject({ state: 'untried', last_used_at: null });
});

test('what a page behind a login links to is watched with the login at its site, and nowhere else', async () => {
  const node = await openCollectingNode();
  const web = await ScriptedWeb.open();
  const far = web.url('/far', 'localhost');
  web.script('/', members(`<a href="/near">Secret title</a><a href="${far}">Far</a>`));
  web.script('/near', members('near'));
  web.script('/far', page('far'));
  const { id: profile } = await addProfile(node);
  const follow = { kind: 'links', match: '/(near|far)$', limit: 5, approve: false };
  await node.watch(web.url('/'), { profile, follow });
  await node.check();
  await node.check();
  const { items } = await node.read<{ items: WatchedSource[] }>('/manage/sources?sort=added');
  expect(new Set(items.map(({ url, profile: of, name }) => `${url} ${of} ${name}`))).toEqual(
    new Set([`${web.url('/')} ${profile} `, `${web.url('/near')} ${profile} `, `${far} null `]),
  );
  expect(cookiesOf(web, '/near')).toEqual([`sid=${CANARY}`]);
});

test('what the public gets is not fetched beside what was handed in, where the address is watched with a login', async () => {
  const node = await openCollectingNode();
  const web = await ScriptedWeb.open();
  scriptMembers(web);
  const { id: profile } = await addProfile(node);
  await node.watch(web.url('/'), { profile });
  const html = Buffer.from('<p>What I saw.</p>');
  const handed = await handIn(node.node, html, 'text/html', { url: web.url('/'), fetch: 'true' });
  expect(handed).toMatchObject({ page: null, page_error: expect.stringContaining('watched with a login') });
  expect(web.requests('/')).toEqual([]);
});
