import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
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
