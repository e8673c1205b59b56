import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import type { PageCapture, PageList, PageRequest } from '../../../shared/collection/page.ts';
import type { ProvenRetrievals } from '../../../shared/collection/retrieval.ts';
import {
  page as answer,
  closeScriptedWebs,
  redirect,
  ScriptedWeb,
} from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

/*
 * The gate between a page and the network, at a node. Its network has public and private addresses, all of which lead to
 * this machine: 127.0.0.2 is public, and 127.0.0.3 is private.
 */
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const PUBLIC = '127.0.0.2';
const PRIVATE = '127.0.0.3';
const HTML = { headers: { 'content-type': 'text/html; charset=utf-8' } };
const TOKEN = 'secret-token-of-the-owner';

/** Where names lead: to an address, or to one after the other. */
type Names = Record<string, string | string[]>;

async function openSite(
  names: Names,
): Promise<{ node: CollectingNode; site: ScriptedWeb; inside: ScriptedWeb }> {
  const site = await ScriptedWeb.open({ host: PUBLIC });
  const inside = await ScriptedWeb.open({ host: PRIVATE, port: site.port });
  inside.script('/', answer('secret', { headers: { 'access-control-allow-origin': '*' } }));
  const node = await openCollectingNode(
    {},
    {
      network: {
        isPrivateAddress: (address) => address !== PUBLIC,
        lookup: async (hostname): Promise<LookupAddress[]> => {
          const known = names[hostname];
          const address = Array.isArray(known) ? (known.length > 1 ? known.shift() : known[0]) : known;
          if (address !== undefined) return [{ address, family: 4 }];
          if (isIP(hostname) !== 0) return [{ address: hostname, family: isIP(hostname) }];
          throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' });
        },
        // Each request looks its name up.
        keepAliveMs: 1,
      },
    },
  );
  return { node, site, inside };
}

async function capture(node: CollectingNode, url: string, fields: object = {}): Promise<PageCapture> {
  const { id } = await node.watch(url, { capture: 'page', ...fields });
  await node.check([id]);
  const { items } = await node.read<PageList>(`/archive/pages?source=${id}`);
  const [newest] = items;
  if (!newest) throw new Error(`No page was captured: ${JSON.stringify(await node.source(id))}`);
  return node.read<PageCapture>(`/archive/pages/${newest.id}`);
}

const said = (page: PageCapture, path: string): Partial<PageRequest> | undefined =>
  page.requests.find(({ url }) => new URL(url).pathname + new URL(url).search === path);

test('a page at a public address reaches no private one: by number, name, redirect or rebinding', async () => {
  const names: Names = {
    'site.example': PUBLIC,
    'inside.example': PRIVATE,
    localhost: PRIVATE,
    // The first lookup gives the public address, and the next the private one.
    'rebound.example': [PUBLIC, PRIVATE],
  };
  const { node, site, inside } = await openSite(names);
  const port = `:${site.port}`;
  const targets = [
    `http://${PRIVATE}${port}/?number`,
    `http://inside.example${port}/?name`,
    `http://site.example${port}/away`,
    `http://rebound.example${port}/?first`,
    `http://rebound.example${port}/?second`,
    `http://localhost${port}/?localhost`,
    `http://0x7f000003${port}/?hexadecimal`,
    `http://[::ffff:127.0.0.3]${port}/?mapped`,
    `http://0.0.0.0${port}/?zero`,
  ];
  site.script('/away', redirect(`http://inside.example${port}/?redirect`));
  site.script('/?first', answer('public', { headers: { 'access-control-allow-origin': '*' } }));
  site.script(
    '/',
    answer(
      `<p id="p"></p>${targets.map((url) => `<iframe src="${url}&frame"></iframe><img src="${url}&image">`).join('')}<script>
      (async () => {
        for (const url of ${JSON.stringify(targets)}) await fetch(url, { mode: 'no-cors' }).then(() => { p.textContent += url.includes('first') ? 'public ' : 'reached ' }, () => {});
        await navigator.sendBeacon('http://inside.example${port}/?beacon', 'x');
        p.textContent += 'asked';
      })()</script>`,
      HTML,
    ),
  );
  const page = await capture(node, `http://site.example${port}/`);
  expect(await (await node.node.fetch(`/archive/${page.text}`)).text()).not.toMatch(/reached|secret/);
  expect(inside.requestCount).toBe(0);
  const inward = page.requests.filter(({ url }) => !/^(site|rebound)\.example/.test(new URL(url).host));
  expect(inward.length).toBeGreaterThan(8);
  for (const { url, from, status, reason } of inward)
    expect([from, status, reason], url).toEqual([
      'refused',
      null,
      // A beacon is a POST.
      url.includes('beacon') ? 'method' : 'private_address',
    ]);
  expect(said(page, '/?second')).toMatchObject({ status: null, reason: 'private_address' });
});

test('a page at a private address that was watched on purpose has its parts from there', async () => {
  const { node, inside } = await openSite({ 'wiki.example': PRIVATE });
  inside.script(
    '/page',
    answer(
      '<p id="p"><script>fetch("/").then((r) => r.text()).then((t) => p.textContent = t)</script>',
      HTML,
    ),
  );
  const page = await capture(node, `http://wiki.example:${inside.port}/page`);
  expect(await (await node.node.fetch(`/archive/${page.text}`)).text()).toBe('secret\n');
});

test('POST is answered to the own site and refused to others, and other methods are refused', async () => {
  const { node, site } = await openSite({
    'www.site.example': PUBLIC,
    'api.site.example': PUBLIC,
    'other.example': PUBLIC,
  });
  const port = `:${site.port}`;
  const cors = { headers: { 'access-control-allow-origin': '*' } };
  for (const path of ['/own', '/sibling', '/foreign', '/put']) site.script(path, answer('answer', cors));
  site.script(
    '/',
    answer(
      `<p><script>
      fetch('/own', { method: 'POST', body: 'own body' });
      fetch('http://api.site.example${port}/sibling', { method: 'POST', body: 'sibling body' });
      fetch('http://other.example${port}/foreign', { method: 'POST', body: 'foreign body' }).catch(() => {});
      fetch('/put', { method: 'PUT', body: 'x' }).catch(() => {});
      fetch('/put', { method: 'DELETE' }).catch(() => {});
      </script>`,
      HTML,
    ),
  );
  const page = await capture(node, `http://www.site.example${port}/`);
  expect(said(page, '/own')).toMatchObject({ method: 'POST', status: 200, from: 'web' });
  expect(said(page, '/sibling')).toMatchObject({ method: 'POST', status: 200, from: 'web' });
  expect(said(page, '/foreign')).toMatchObject({ method: 'POST', from: 'refused', reason: 'method' });
  for (const method of ['PUT', 'DELETE'])
    expect(page.requests).toContainEqual(
      expect.objectContaining({ method, from: 'refused', reason: 'method' }),
    );
  expect(site.requests('/foreign')).toEqual([]);
  expect(site.requests('/put')).toEqual([]);
  const { items } = await node.read<ProvenRetrievals>(`/api/retrievals?part_of=${page.id}`);
  const own = items.find(({ retrieval }) => retrieval.url.endsWith('/own'))?.retrieval;
  expect(await (await node.node.fetch(`/archive/${own?.request?.body?.sha256}`)).text()).toBe('own body');
});

test("the owner's headers go to the own origin only, and neither they nor cookies are in any output", async () => {
  const { node, site } = await openSite({ 'site.example': PUBLIC, 'cdn.example': PUBLIC });
  const port = `:${site.port}`;
  const cors = { 'access-control-allow-origin': '*', 'access-control-allow-headers': '*' };
  for (const path of ['/own', '/foreign', '/later'])
    site.script(path, answer('answer', { headers: { ...cors, 'set-cookie': 'session=secret-session' } }));
  site.script('/away', redirect(`http://cdn.example${port}/redirected`));
  site.script('/redirected', answer('redirected', { headers: cors }));
  site.script(
    '/',
    answer(
      `<p id="p"><script>
      document.cookie = 'script=secret-of-script';
      (async () => {
        await fetch('/own'); await fetch('/later', { headers: { Authorization: 'Bearer secret-of-page' } });
        await fetch('/away').catch(() => {}); await fetch('http://cdn.example${port}/foreign');
        p.textContent = 'asked';
      })()</script>`,
      { headers: { ...HTML.headers, 'set-cookie': 'first=secret-first' } },
    ),
  );
  const page = await capture(node, `http://site.example${port}/`, { headers: { 'X-Token': TOKEN } });
  expect(await (await node.node.fetch(`/archive/${page.text}`)).text()).toBe('asked\n');
  const sent = (path: string) => site.requests(path)[0]?.headers;
  expect(sent('/own')).toMatchObject({ 'x-token': TOKEN });
  expect(sent('/away')).toMatchObject({ 'x-token': TOKEN });
  for (const path of ['/foreign', '/redirected']) expect(sent(path)).not.toHaveProperty('x-token');
  // What the page and its parts set comes back.
  expect(sent('/later')?.cookie?.split('; ').sort()).toEqual([
    'first=secret-first',
    'script=secret-of-script',
    'session=secret-session',
  ]);
  expect(sent('/later')).toMatchObject({ authorization: 'Bearer secret-of-page' });

  const { items } = await node.read<ProvenRetrievals>(`/api/retrievals?part_of=${page.id}`);
  const later = items.find(({ retrieval }) => retrieval.url.endsWith('/later'))?.retrieval;
  const headers = Object.fromEntries(later?.request?.headers ?? []);
  expect(headers).toMatchObject({ 'x-token': null, cookie: null, authorization: null });
  const outputs = [
    `/archive/pages/${page.id}`,
    '/api/retrievals',
    `/api/retrievals?part_of=${page.id}`,
    '/api/dump.jsonl',
    '/api/warc',
    '/api/wacz',
    `/archive/${page.document}`,
    `/archive/${page.text}`,
  ];
  for (const path of outputs) {
    const response = await node.node.fetch(path);
    expect(response.status, path).toBe(200);
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(bytes.includes(TOKEN), path).toBe(false);
    expect(bytes.includes('secret-session'), path).toBe(false);
  }
});

test('a frame of another site gets no header of the owner, and does not act at the page’s site', async () => {
  const { node, site } = await openSite({ 'site.example': PUBLIC, 'evil.example': PUBLIC });
  const port = `:${site.port}`;
  const open = {
    'access-control-allow-origin': '*',
    'access-control-allow-headers': '*',
    ...HTML.headers,
  };
  for (const path of ['/own', '/read', '/image', '/transfer', '/form', '/framed'])
    site.script(path, answer('<p>answer', { headers: open }));
  site.script(
    '/evil',
    answer(
      `<form method="post" action="http://site.example${port}/form" target="sent"></form><iframe name="sent"></iframe>
      <iframe src="http://site.example${port}/framed"></iframe><img src="http://site.example${port}/image">
      <script>
      const at = (path, how) => fetch('http://site.example${port}' + path, how).catch(() => {});
      at('/read', { headers: { 'X-Own': '1' } });
      at('/read?hidden', { referrerPolicy: 'no-referrer', mode: 'no-cors' });
      at('/transfer', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' });
      at('/transfer?simple', { method: 'POST', body: 'x', mode: 'no-cors', referrerPolicy: 'no-referrer' });
      at('/options', { method: 'OPTIONS' });
      document.forms[0].submit();
      </script>`,
      HTML,
    ),
  );
  site.script(
    '/',
    answer(
      `<meta name="referrer" content="no-referrer"><iframe src="http://evil.example${port}/evil"></iframe>
      <iframe sandbox="allow-scripts" srcdoc="<script>fetch('http://site.example${port}/transfer?sandboxed', { method: 'POST', body: 'x', mode: 'no-cors' })</script>"></iframe>
      <p id="p"><script>fetch('/own', { method: 'POST', body: 'own' }).then(() => fetch('/own')).then(() => p.textContent = 'asked')</script>`,
      HTML,
    ),
  );
  const page = await capture(node, `http://site.example${port}/`, { headers: { 'X-Token': TOKEN } });
  expect(site.requests('/own').map(({ method, headers }) => [method, headers['x-token']])).toEqual([
    ['POST', TOKEN],
    ['GET', TOKEN],
  ]);
  for (const path of ['/read', '/read?hidden', '/image', '/framed']) {
    expect(site.requests(path), path).toHaveLength(1);
    expect(site.requests(path)[0]?.headers, path).not.toHaveProperty('x-token');
  }
  for (const path of ['/transfer', '/transfer?simple', '/transfer?sandboxed', '/form']) {
    expect(site.requests(path), path).toEqual([]);
    expect(said(page, path), path).toMatchObject({ method: 'POST', from: 'refused', reason: 'method' });
  }
  expect(said(page, '/options')).toMatchObject({ method: 'OPTIONS', from: 'refused', reason: 'method' });
});

test.each([
  [
    'a form',
    `<form method="post" action="ACTION" target="_top"></form><script>document.forms[0].submit()</script>`,
  ],
  [
    'a form that hides its origin',
    `<meta name="referrer" content="no-referrer"><form method="post" action="ACTION" target="_top"></form><script>document.forms[0].submit()</script>`,
  ],
  ['a script', `<script>top.location.href = 'ACTION'</script>`],
  [
    'a link that hides its origin',
    `<a href="ACTION" target="_top" rel="noreferrer">x</a><script>document.links[0].click()</script>`,
  ],
])('a frame of another site does not lead the page to an act of the owner by %s', async (_what, evil) => {
  const { node, site } = await openSite({ 'site.example': PUBLIC, 'evil.example': PUBLIC });
  const port = `:${site.port}`;
  site.script('/act', answer('<p>done', HTML));
  site.script('/evil', answer(evil.replace('ACTION', `http://site.example${port}/act`), HTML));
  site.script('/', answer(`<p>page<iframe src="http://evil.example${port}/evil"></iframe>`, HTML));
  await capture(node, `http://site.example${port}/`, { headers: { 'X-Token': TOKEN } });
  expect(site.requests('/evil')).toHaveLength(1);
  const acts = site.requests('/act').map(({ method, headers }) => [method, headers['x-token']]);
  expect(acts.filter(([method, token]) => method === 'POST' || token !== undefined)).toEqual([]);
});

test('a page at a private address that hides its address from its requests has its parts, frames and next page', async () => {
  const { node, inside } = await openSite({ 'wiki.example': PRIVATE });
  const port = `:${inside.port}`;
  const hidden = { headers: { ...HTML.headers, 'referrer-policy': 'no-referrer' } };
  const ask = (id: string) =>
    `<p id="p">-<script>fetch('/${id}').then((r) => r.text()).then((t) => p.textContent = t)</script>`;
  for (const part of ['first', 'second']) inside.script(`/${part}`, answer(part));
  inside.script('/inner', answer(ask('second'), hidden));
  inside.script('/shown', answer(`<iframe src="/inner"></iframe>${ask('first')}`, hidden));
  inside.script('/page', answer(`<script>location.replace('/shown')</script>`, hidden));
  const page = await capture(node, `http://wiki.example${port}/page`, { headers: { 'X-Token': TOKEN } });
  expect(await (await node.node.fetch(`/archive/${page.text}`)).text()).toBe('second\nfirst\n');
  // Who leads the page to another one without a word could also be a frame of another site.
  expect(inside.requests('/shown')[0]?.headers).not.toHaveProperty('x-token');
  for (const path of ['/first', '/inner', '/second'])
    expect(
      inside.requests(path).map(({ headers }) => headers['x-token']),
      path,
    ).toEqual([TOKEN]);
});

test('a page whose document cannot be decoded is not kept as an empty one', async () => {
  const { node, site } = await openSite({ 'site.example': PUBLIC });
  const coded = { headers: { ...HTML.headers, 'content-encoding': 'gzip' } };
  const gzip = gzipSync('<p>text');
  site.script('/', answer(Buffer.concat([gzip.subarray(0, 10), Buffer.from('no deflate')]), coded));
  const { id } = await node.watch(`http://site.example:${site.port}/`, { capture: 'page' });
  await node.check([id]);
  expect(await node.source(id)).toMatchObject({ page_error: 'page_too_large', state: 'available' });
});

test('a public page reaches nothing private, also behind or within a private one', async () => {
  const { node, site, inside } = await openSite({ 'wiki.example': PRIVATE, 'site.example': PUBLIC });
  const port = `:${site.port}`;
  const ask = `<p id="p">-<script>fetch('http://${PRIVATE}${port}/').then((r) => r.text()).then((t) => p.textContent = t, () => p.textContent = 'refused')</script>`;
  site.script('/public', answer(ask, HTML));
  inside.script('/moved', redirect(`http://site.example${port}/public`));
  inside.script('/framing', answer(`<iframe src="http://site.example${port}/public"></iframe>${ask}`, HTML));
  const moved = await capture(node, `http://wiki.example${port}/moved`);
  expect(await (await node.node.fetch(`/archive/${moved.text}`)).text()).toBe('refused\n');
  expect(inside.requests('/')).toEqual([]);
  const framing = await capture(node, `http://wiki.example${port}/framing`);
  expect(await (await node.node.fetch(`/archive/${framing.text}`)).text()).toBe('refused\nsecret\n');
  expect(inside.requests('/')).toHaveLength(1);
});

test('what a server sends with a coding that nobody asked for is kept as sent, and drawn as it is', async () => {
  const { node, site } = await openSite({ 'site.example': PUBLIC });
  const coded = (text: string, type: string) =>
    answer(gzipSync(text), { headers: { 'content-type': type, 'content-encoding': 'gzip' } });
  site.script('/a|b', coded('<p id="p">-<script src="/part.js"></script>', 'text/html'));
  site.script('/part.js', coded('p.textContent = "drawn"', 'text/javascript'));
  const page = await capture(node, `http://site.example:${site.port}/a|b`);
  expect(await (await node.node.fetch(`/archive/${page.text}`)).text()).toBe('drawn\n');
  // The document is that of the check, although a browser writes its address differently.
  expect(site.requests('/a|b').length + site.requests('/a%7Cb').length).toBe(1);
  const sent = await node.node.fetch(`/archive/${said(page, '/part.js')?.sha256}`);
  expect(
    Buffer.from(await sent.arrayBuffer())
      .subarray(0, 2)
      .toString('hex'),
  ).toBe('1f8b');
  const drawn = await node.node.fetchAsOwner(`/archive/pages/${page.id}/draw`, { method: 'POST' });
  expect(await drawn.json()).toMatchObject({ same_text: true, same_picture: true });
});

test('what a page sends and what its parts decode to count, at capture and when it is drawn again', async () => {
  const { node, site } = await openSite({ 'site.example': PUBLIC });
  await node.set({ page_max_mb: 2 });
  site.script('/sent', answer('taken'));
  site.script(
    '/sending',
    answer(
      `<p><script>for (let n = 0; n < 5; n += 1) fetch('/sent?' + n, { method: 'POST', body: 'x'.repeat(900_000) })</script>`,
      HTML,
    ),
  );
  const sending = await capture(node, `http://site.example:${site.port}/sending`);
  expect(sending).toMatchObject({ outcome: 'cut', reason: 'bytes' });
  expect(sending.requests.filter(({ from }) => from === 'web').length).toBe(3);

  const bomb = gzipSync(Buffer.alloc(1_500_000));
  const headers = { 'content-type': 'text/css', 'content-encoding': 'gzip' };
  for (let n = 0; n < 6; n += 1) site.script(`/${n}.css`, answer(bomb, { headers }));
  const links = Array.from({ length: 6 }, (_, n) => `<link rel="stylesheet" href="/${n}.css">`).join('');
  site.script('/bombs', answer(`<p>text${links}`, HTML));
  const bombs = await capture(node, `http://site.example:${site.port}/bombs`);
  expect(bombs).toMatchObject({ outcome: 'cut', reason: 'bytes' });
  const drawn = await node.node.fetchAsOwner(`/archive/pages/${bombs.id}/draw`, { method: 'POST' });
  expect(await drawn.json()).toMatchObject({ outcome: 'cut', reason: 'bytes', same_text: true });
});

test('what one page asked for neither stops nor spoils another', async () => {
  const { node, site } = await openSite({ 'site.example': PUBLIC, 'evil.example': PUBLIC });
  const port = `:${site.port}`;
  site.script(
    '/app.js',
    answer('docu', {
      status: 206,
      headers: { 'content-range': 'bytes 0-3/40', 'access-control-allow-origin': '*' },
    }),
    answer('document.body.append("by script")', { headers: { 'content-type': 'text/javascript' } }),
  );
  site.script('/limited', answer('', { status: 429, headers: { 'retry-after': '86400' } }));
  site.script(
    '/evil',
    answer(
      `<p>evil<script>fetch('http://site.example${port}/app.js', { headers: { Range: 'bytes=0-3' } });
      fetch('http://site.example${port}/limited', { mode: 'no-cors' })</script>`,
      HTML,
    ),
  );
  site.script('/', answer('<p>seen<script src="/app.js"></script>', HTML));
  await capture(node, `http://evil.example${port}/evil`);
  const page = await capture(node, `http://site.example${port}/`);
  expect(await (await node.node.fetch(`/archive/${page.text}`)).text()).toBe('seen\nby script\n');
  const drawn = await node.node.fetchAsOwner('/archive/draw', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    // Nearer to the piece that the other page got.
    body: JSON.stringify({ url: page.url, at: '2000-01-01T00:00:00Z' }),
  });
  const { text } = (await drawn.json()) as { text: string };
  expect(text).toBe(page.text);
});

test('a page gets every status that a server sends', async () => {
  const { node, site } = await openSite({ 'site.example': PUBLIC });
  const statuses = [299, 451, 599, 600, 999];
  for (const status of statuses) site.script(`/${status}`, answer('x', { status }));
  site.script(
    '/',
    answer(
      `<p id="p"><script>(async () => { for (const one of ${JSON.stringify(statuses)}) p.append((await fetch('/' + one)).status + ' ') })()</script>`,
      HTML,
    ),
  );
  const page = await capture(node, `http://site.example:${site.port}/`);
  expect(await (await node.node.fetch(`/archive/${page.text}`)).text()).toBe(`${statuses.join(' ')}\n`);
});

test('a cookie of one page is not sent by the next', async () => {
  const { node, site } = await openSite({ 'site.example': PUBLIC });
  site.script('/part', answer('part'));
  const shown = (script: string) => answer(`<p id="p">-</p><script type="module">${script}</script>`, HTML);
  site.script('/', shown(`document.cookie = 'session=secret-cookie'; await fetch('/part')`));
  const page = await capture(node, `http://site.example:${site.port}/`);
  site.script('/', shown(`await fetch('/part')`));
  await node.check([page.source]);
  expect(site.requests('/part').map(({ headers }) => headers.cookie)).toEqual([
    'session=secret-cookie',
    undefined,
  ]);
});

test('one slow or failing part holds nothing up, and the check does not fail', async () => {
  const { node, site } = await openSite({ 'site.example': PUBLIC });
  site.script('/never', () => {});
  site.script('/gone', (socket) => void socket.resetAndDestroy());
  site.script(
    '/',
    answer('<p>text<img src="/never"><img src="/gone"><img src="http://nowhere.example/">', HTML),
  );
  await node.set({ page_timeout_seconds: 5 });
  const page = await capture(node, `http://site.example:${site.port}/`);
  expect(page).toMatchObject({ outcome: 'cut', reason: 'time' });
  expect(said(page, '/never')).toMatchObject({ from: 'web', reason: 'timeout' });
  expect(said(page, '/gone')).toMatchObject({ from: 'web', reason: 'connection_reset' });
  expect(page.requests.find(({ url }) => url.includes('nowhere'))).toMatchObject({ reason: 'dns_error' });
});
