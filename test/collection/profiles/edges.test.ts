import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import type { WatchedSource } from '../../../shared/collection/source.ts';
import type { Copy } from '../../../shared/node/copy.ts';
import { filesWith } from '../../copies/withheldCopies.ts';
import { everythingIn } from '../../simulate/markers.ts';
import { eventually } from '../../support/eventually.ts';
import { closeScriptedWebs, page, redirect, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes, DERIVING, temporaryFolder } from '../../support/node.ts';
import { seen } from '../../withholding/quotes.ts';
import { openCollectingNode } from '../support.ts';
import { addProfile, CANARY, cookie, cookiesOf, members } from './support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const HTML = { 'content-type': 'text/html; charset=utf-8' };

test('an address with the session in it is not kept with the validators', async () => {
  const web = await ScriptedWeb.open();
  web.script('/', redirect(`/home?session=${CANARY}`));
  web.script(`/home?session=${CANARY}`, members('mine', CANARY, { ETag: '"v1"' }));
  const node = await openCollectingNode();
  const { id: profile } = await addProfile(node);
  await node.watch(web.url('/'), { profile });
  expect(await node.check()).toMatchObject({ failed: 0 });
  expect(await filesWith(node.node.dataFolder, CANARY)).toEqual([]);
});

test('what the site says of a version counts for no other login, also if it came before the change', async () => {
  const web = await ScriptedWeb.open();
  const node = await openCollectingNode();
  const { id: profile } = await addProfile(node);
  const { id } = await node.watch(web.url('/'), { profile });
  web.script('/', async (socket, request) => {
    await node.node.sendJson('PATCH', `/manage/sources/${id}`, { profile: null });
    return page('mine', { headers: { ETag: '"v1"' } })(socket, request);
  });
  await node.check();
  web.script('/', page('public'));
  await node.check();
  expect(web.requests('/').at(-1)?.headers).not.toHaveProperty('if-none-match');
});

test('a version that is only in a copy which does not answer keeps no check from its end', async () => {
  const web = await ScriptedWeb.open();
  web.script('/', members('<p>first', CANARY, HTML), members('<p>second', CANARY, HTML));
  const node = await openCollectingNode({}, DERIVING);
  const { id: profile } = await addProfile(node);
  const { id } = await node.watch(web.url('/'), { profile });
  await node.check();
  const place = join(await temporaryFolder(), 'copy');
  const target = pathToFileURL(place).href;
  const added = await node.node.sendJson('POST', '/manage/copies', { target });
  const copy = ((await added.json()) as Copy).id;
  await node.node.fetchAsOwner(`/manage/copies/${copy}/sync?wait=true`, { method: 'POST' });
  await node.node.sendJson('POST', `/manage/copies/${copy}/check?wait=true`, {});
  await node.node.sendJson('PATCH', '/manage/settings', { offload_after_days: 0 });
  await node.node.fetchAsOwner('/manage/offload?wait=true', { method: 'POST' });
  const { last_sha256 } = await node.read<WatchedSource>(`/manage/sources/${id}`);
  await rename(place, `${place}-unplugged`);
  const read = await node.node.fetchAsOwner(`/archive/${last_sha256}`);
  expect(await read.json()).toMatchObject({ code: 'copy_unreachable' });
  web.script('/', members('<form><input type="password"></form>', CANARY, HTML));
  expect(await node.check()).toMatchObject({ failed: 0, changed: 1 });
});

test('a cookie that ends after all time is kept', async () => {
  const node = await openCollectingNode();
  const late = { storage_state: { cookies: [cookie(CANARY, { expires: 1e14 })] } };
  const netscape = `127.0.0.1\tFALSE\t/\tTRUE\t9223372036854775807\tsid\t${CANARY}\n`;
  for (const content of [late, { storage_state: undefined, netscape }])
    expect(await addProfile(node, content)).toMatchObject({ cookies: 1 });
});

test('a request that waits for its turn has the cookies that another check got meanwhile', async () => {
  const lookup = async () => [{ address: '127.0.0.1', family: 4 }];
  const node = await openCollectingNode({}, { network: { lookup } });
  const web = await ScriptedWeb.open();
  const { id: profile } = await addProfile(node, {
    site: 'login.example',
    storage_state: { cookies: [cookie(CANARY, { domain: '.login.example' })] },
  });
  const first = await node.watch(web.url('/first', 'a.login.example'), { profile, ignore_robots: true });
  await node.watch(web.url('/second', 'b.login.example'), { profile });
  web.script('/first', async (socket, request) => {
    await web.asked('/robots.txt');
    const headers = { 'Set-Cookie': 'sid=rotated-value; Domain=login.example; Path=/' };
    return page('one', { headers })(socket, request);
  });
  web.script('/robots.txt', async (socket, request) => {
    await eventually(async () => expect((await node.source(first.id)).last_checked_at).not.toBeNull());
    return page('', { status: 404 })(socket, request);
  });
  web.script('/second', page('two'));
  await node.check();
  expect(cookiesOf(web, '/second')).toEqual(['sid=rotated-value']);
});

test('a link with the session in it is not watched', async () => {
  const web = await ScriptedWeb.open();
  web.script('/', members(`<a href="/near">Near</a><a href="/near?s=${CANARY}">Secret</a>`, CANARY, HTML));
  web.script('/near', members('near'));
  const node = await openCollectingNode();
  const { id: profile } = await addProfile(node);
  await node.watch(web.url('/'), {
    profile,
    follow: { kind: 'links', match: '/near', limit: 5, approve: false },
  });
  await node.check();
  const { items } = await node.read<{ items: WatchedSource[] }>('/manage/sources?sort=added');
  expect(items.map(({ url }) => url).sort()).toEqual([web.url('/'), web.url('/near')]);
});

test('a plain connection replaces no cookie that only encrypted ones get', async () => {
  const web = await ScriptedWeb.open();
  web.script('/', page('mine', { headers: { 'Set-Cookie': 'sid=planted-value; Path=/' } }));
  const node = await openCollectingNode();
  const { id: profile } = await addProfile(node, {
    storage_state: { cookies: [cookie(CANARY, { secure: true })] },
  });
  await node.watch(web.url('/'), { profile });
  await node.check();
  await node.check();
  expect(cookiesOf(web, '/')).toEqual([undefined, undefined]);
});

test('an attempt that is made again keeps no cookies of a login page', async () => {
  const web = await ScriptedWeb.open();
  const refusal = page('Log in', { status: 401, headers: { 'Set-Cookie': 'sid=anonymous; Path=/' } });
  web.script('/', refusal, members('mine'));
  const node = await openCollectingNode({ retry_delays_seconds: [0] });
  const { id: profile } = await addProfile(node);
  const { id } = await node.watch(web.url('/'), { profile });
  expect(await node.check()).toMatchObject({ failed: 0 });
  expect(cookiesOf(web, '/')).toEqual([`sid=${CANARY}`, `sid=${CANARY}`]);
  expect(await node.source(id)).toMatchObject({ login: 'works' });
});

test('why a page behind a login looks like an error page is said without its title', async () => {
  const web = await ScriptedWeb.open();
  web.script('/', members('<title>Page not found | Inbox of Ada</title><p>Nothing.</p>', CANARY, HTML));
  const node = await openCollectingNode();
  const { id: profile } = await addProfile(node);
  const { id } = await node.watch(web.url('/'), { profile });
  expect(await node.check()).toMatchObject({ failed: 0 });
  expect((await node.retrievals(id))[0]?.page_label).toMatchObject({ label: 'error_page' });
  const [event] = await node.events();
  const paths = [
    '/api/retrievals',
    '/api/events',
    '/api/sources',
    '/api/dump.jsonl',
    `/api/events/${event?.id}`,
  ];
  for (const path of [...paths, `/api/events/${event?.id}/quality`])
    expect(await (await node.node.fetch(path)).text(), path).not.toContain('Inbox of');
});

test('of the headers of what a login gets, those are recorded that name no account and no file', async () => {
  const node = await openCollectingNode();
  const web = await ScriptedWeb.open();
  const name = 'lovelaceada';
  const sent = {
    'X-Account-Name': name,
    'Content-Disposition': `attachment; filename="${name}.pdf"`,
    'Content-Type': `text/html; name="${name}"; charset="utf-8"; title=${name}`,
    'Content-Language': 'en',
    'Last-Modified': 'Tue, 24 Nov 2026 10:00:00 GMT',
  };
  web.script('/', page('', { status: 302, headers: { ...sent, Location: '/mine' } }));
  web.script('/mine', page('<p>For members.</p>', { headers: sent }));
  const { id: profile } = await addProfile(node);
  const { id } = await node.watch(web.url('/'), { profile });
  expect(await node.check()).toMatchObject({ failed: 0, changed: 1 });
  const [retrieval] = await node.retrievals(id);
  expect(retrieval).toMatchObject({ content_type: 'text/html; charset=utf-8' });
  const kept = [
    ['Content-Type', 'text/html; charset=utf-8'],
    ['Content-Language', 'en'],
    ['Last-Modified', 'Tue, 24 Nov 2026 10:00:00 GMT'],
  ];
  for (const headers of [retrieval?.headers, retrieval?.redirects[0]?.headers])
    expect(headers).toEqual(expect.arrayContaining(kept));
  expect(await seen(node.node, name)).toEqual([]);
  // What the owner exports is a whole answer with these headers.
  const warc = await node.node.fetchAsOwner('/api/warc');
  const written = everythingIn(Buffer.from(await warc.arrayBuffer()));
  expect(written).toMatch(/Content-Type: text\/html; charset=utf-8\r\n[^]*\r\n\r\n<p>For members\.<\/p>/);
  expect(written).not.toContain(name);
  expect(await node.read('/api/ledger/verify')).toMatchObject({ ok: true });
});
