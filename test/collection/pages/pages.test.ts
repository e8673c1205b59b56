import { createHash } from 'node:crypto';
import { PNG } from 'pngjs';
import { afterEach, describe, expect, test } from 'vitest';
import type { ArchivedDraw, PageCapture, PageComparison, PageList } from '../../../shared/collection/page.ts';
import type { PageResources } from '../../../shared/collection/view.ts';
import { canonicalText } from '../../../shared/values/canonicalJson.ts';
import { sha256Of } from '../../support/archive/packs.ts';
import {
  page as answer,
  closeScriptedWebs,
  raw,
  ScriptedWeb,
  type Step,
} from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const HTML = { headers: { 'content-type': 'text/html; charset=utf-8' } };
const JSON_TYPE = { headers: { 'content-type': 'application/json' } };

/** A page whose text comes from JSON got by POST; its markup has a nonce that changes with each request. */
function shop(nonce: string): string {
  return `<!doctype html><html><head><title>Shop ${nonce}</title><link rel="stylesheet" href="/style.css"></head>
    <body data-nonce="${nonce}"><h1>Prices</h1><ul id="list"></ul><script src="/app.js"></script></body></html>`;
}
const APP = `fetch('/prices', { method: 'POST', body: '{"all":true}', headers: { 'content-type': 'application/json' } })
  .then((response) => response.json())
  .then((prices) => {
    for (const [name, price] of Object.entries(prices)) {
      const item = document.createElement('li');
      item.textContent = name + ' costs ' + price;
      document.getElementById('list').append(item);
    }
  });`;

async function openShop(): Promise<{ web: ScriptedWeb; node: CollectingNode; source: string; url: string }> {
  const web = await ScriptedWeb.open();
  web.script('/', answer(shop('one'), HTML));
  web.script('/app.js', answer(APP, { headers: { 'content-type': 'text/javascript' } }));
  web.script('/style.css', answer('body { background: #fed }', { headers: { 'content-type': 'text/css' } }));
  web.script('/prices', answer('{"Bread":"2.10","Milk":"1.20"}', JSON_TYPE));
  const node = await openCollectingNode();
  const url = web.url('/');
  const { id: source } = await node.watch(url, { capture: 'page' });
  return { web, node, source, url };
}

async function pagesOf(node: CollectingNode, source: string): Promise<PageCapture[]> {
  const { items } = await node.read<PageList>(`/archive/pages?source=${source}`);
  return Promise.all(items.map(({ id }) => node.read<PageCapture>(`/archive/pages/${id}`)));
}

async function textOf(node: CollectingNode, sha256: string): Promise<string> {
  return (await node.node.fetch(`/archive/${sha256}`)).text();
}

describe('a page drawn by script', () => {
  test('is kept with its text, picture, document and requests, under one ledger entry', async () => {
    const { web, node, source, url } = await openShop();
    const { events, failed } = await node.check();
    expect(failed).toBe(0);
    const [page] = await pagesOf(node, source);
    if (!page) throw new Error('No page was captured.');
    expect(page).toMatchObject({
      source,
      url,
      outcome: 'complete',
      reason: null,
      title: 'Shop one',
      picture_changed: null,
    });
    expect(await textOf(node, page.text)).toBe('Prices\nBread costs 2.10\nMilk costs 1.20\n');
    const document = await textOf(node, page.document);
    expect(document).toContain('<li>Bread costs 2.10</li>');
    expect(document).not.toMatch(/<script|onload/);
    const picture = Buffer.from(await (await node.node.fetch(`/archive/${page.picture}`)).arrayBuffer());
    expect(picture.readUInt32BE(16)).toBe(1280);
    expect(
      page.requests
        .map(({ method, url: of, status, from }) => `${method} ${new URL(of).pathname} ${status} ${from}`)
        .sort(),
    ).toEqual(['GET / 200 web', 'GET /app.js 200 web', 'GET /style.css 200 web', 'POST /prices 200 web']);
    // The document is not fetched twice.
    expect(web.requests('/')).toHaveLength(1);

    const { ledger_entry, ...record } = page;
    const { items } = await node.read<{ items: { type: string; subject: string; digest: string }[] }>(
      `/api/ledger?from=${ledger_entry}&limit=1`,
    );
    expect(items[0]).toMatchObject({
      type: 'page.captured',
      subject: page.id,
      digest: createHash('sha256').update(canonicalText(record)).digest('hex'),
    });
    const timeline = await node.events();
    expect(timeline.map(({ id }) => id).reverse()).toEqual(events);
    expect(timeline.find(({ observer }) => observer === 'browser')).toMatchObject({
      event_type: 'first_seen',
      sha256: page.text,
      page: page.id,
      original_observed_at: page.started_at,
    });
    expect(await node.read('/api/ledger/verify')).toMatchObject({ ok: true });
    expect(await node.source(source)).toMatchObject({
      capture: 'page',
      page_error: null,
      last_page: page.id,
    });
    // Its parts are no checks of the source and no observations.
    expect(await node.retrievals(source)).toHaveLength(1);
    expect(await node.read('/api/stats')).toMatchObject({ sources: 1, observations: 1 });
  });

  test('gives one event for a changed price, with the words that changed, and none for a changed nonce', async () => {
    const { web, node, source } = await openShop();
    await node.check();
    web.script('/', answer(shop('two'), HTML));
    await node.check();
    expect(await node.timeline('observer=browser')).toEqual(['first_seen']);
    web.script('/prices', answer('{"Bread":"2.35","Milk":"1.20"}', JSON_TYPE));
    await node.check();
    const [event] = await node.events('observer=browser');
    expect(await node.timeline('observer=browser')).toEqual(['first_seen', 'changed']);
    const diff = await node.read<object>(`/api/events/${event?.id}/diff`);
    expect(JSON.stringify(diff)).toContain('2.35');
    const pages = await pagesOf(node, source);
    expect(pages.map(({ picture_changed }) => picture_changed)).toEqual([true, false, null]);
    const list = await node.read<PageList>(`/archive/pages?source=${source}&limit=2&offset=0`);
    expect(list).toMatchObject({ total: 3, limit: 2, offset: 0, items: [{}, {}] });
    expect(await node.read<PageList>(list.next ?? '')).toMatchObject({
      total: 3,
      offset: 2,
      next: null,
      items: [{ id: pages[2]?.id }],
    });
    const earlier = await node.read<PageList>(`/archive/pages?before=${pages[0]?.id}`);
    expect(earlier).toMatchObject({ total: 2, items: [{ id: pages[1]?.id }, { id: pages[2]?.id }] });
    const [newest, older] = pages;
    const comparison = await node.read<PageComparison>(`/archive/pages/${newest?.id}/compare/${older?.id}`);
    expect(comparison).toMatchObject({ before: older?.id, after: newest?.id, picture: { same: false } });
    expect(comparison.picture.regions.length).toBeGreaterThan(0);
    expect(comparison.text?.kind).toBe('text');
    expect(comparison.requests.changed.map(({ after }) => new URL(after.url).pathname)).toEqual(['/prices']);
  });

  test('is drawn again from the archive alone, the same', async () => {
    const { web, node, source, url } = await openShop();
    await node.check();
    const [page] = await pagesOf(node, source);
    const asked = web.requests('/prices').length;
    const response = await node.node.sendJson('POST', `/archive/pages/${page?.id}/draw`, {});
    expect(response.status).toBe(200);
    const draw = (await response.json()) as ArchivedDraw;
    expect(draw).toMatchObject({
      drawn_from: page?.id,
      same_picture: true,
      same_text: true,
      same_environment: true,
      differences: [],
    });
    expect(new Set(draw.requests.map(({ from }) => from))).toEqual(new Set(['archive']));
    expect(web.requests('/prices')).toHaveLength(asked);
    expect(await node.read(`/archive/pages/${draw.id}`)).toEqual(draw);
    expect((await node.node.fetch(`/archive/pages/${draw.id}`)).status).toBe(404);
    const again = await node.node.sendJson('POST', '/archive/draw', { url, at: page?.started_at });
    expect((await again.json()) as ArchivedDraw).toMatchObject({ drawn_from: null, text: page?.text });
  });
});

describe('a page that is served as the field serves pages', () => {
  /** Captures a page and returns it with its text. */
  async function captured(web: ScriptedWeb, path = '/page') {
    const node = await openCollectingNode();
    const { id } = await node.watch(web.url(path), { capture: 'page' });
    expect(await node.check()).toMatchObject({ failed: 0 });
    const [page] = await pagesOf(node, id);
    if (!page) throw new Error('No page was captured.');
    return { node, page, text: await textOf(node, page.text) };
  }

  test.each<[string, Record<string, string>]>([
    ['under the policy sandbox', { 'Content-Security-Policy': "default-src 'none'; sandbox" }],
    [
      'under a sandbox with an origin',
      { 'Content-Security-Policy': 'sandbox allow-same-origin allow-forms' },
    ],
    ['under a sandbox with scripts', { 'Content-Security-Policy': 'sandbox allow-scripts' }],
    ['as a file to save', { 'Content-Disposition': 'attachment; filename=page.html' }],
    ['with odd headers', { 'X Cache': 'HIT', 'X-A': 'a\x01b', 'X-Place': 'Z\xfcrich' }],
  ])('%s', async (_title, headers) => {
    const web = await ScriptedWeb.open();
    web.script(
      '/page',
      answer('<!doctype html><title>Fees</title><p>The fee is 100 euros.', {
        headers: { ...HTML.headers, ...headers },
      }),
    );
    const { node, page, text } = await captured(web);
    expect([page.outcome, text]).toEqual(['complete', 'The fee is 100 euros.\n']);
    const again = await node.node.sendJson('POST', `/archive/pages/${page.id}/draw`, {});
    expect((await again.json()) as ArchivedDraw).toMatchObject({ text: page.text, picture: page.picture });
  });

  test('behind an address that leads to itself until its cookie comes back', async () => {
    const web = await ScriptedWeb.open();
    const wall =
      (behind: string, type: string): Step =>
      (socket, request) =>
        (request.headers.cookie ?? '').includes('seen=1')
          ? answer(behind, { headers: { 'content-type': type } })(socket, request)
          : answer('', { status: 302, headers: { Location: request.path, 'Set-Cookie': 'seen=1; Path=/' } })(
              socket,
              request,
            );
    web.script('/page', wall('<p>In<script src="/part.js"></script>', 'text/html'));
    web.script('/part.js', wall('document.body.append("side")', 'text/javascript'));
    const { node, page, text } = await captured(web);
    expect([page.outcome, text]).toEqual(['complete', 'In\nside\n']);
    expect(page.requests.map(({ url, status }) => `${new URL(url).pathname} ${status}`)).toEqual([
      '/page 302',
      '/page 200',
      '/part.js 200',
    ]);
    const again = await node.node.sendJson('POST', `/archive/pages/${page.id}/draw`, {});
    expect((await again.json()) as ArchivedDraw).toMatchObject({ text: page.text });
  });

  test('with parts that ask for a range of all bytes, in sandboxed frames, and refused ones', async () => {
    const web = await ScriptedWeb.open();
    const frame = '<p>framed<script src="/frame.js"></script>';
    web.script(
      '/page',
      answer(
        `<body><script>
           // Once all is parsed, so that what it appends is always behind the frames.
           addEventListener('DOMContentLoaded', () =>
             fetch('/whole', { headers: { Range: 'bytes=0-' } })
               .then((response) => response.text())
               .then((whole) => document.body.append(whole))
               .then(() => fetch('/put', { method: 'PUT' }))
               .catch(() => document.body.append('refused')));
         </script>
         <iframe sandbox="allow-scripts" src="/frame"></iframe>
         <iframe sandbox="allow-scripts" srcdoc="<script src='${web.url('/doc.js')}'></script>"></iframe>
         <iframe src="data:text/html,<script src='${web.url('/data.js')}'></script>"></iframe>
         <img alt="sign" src="/sign">`,
        HTML,
      ),
    );
    // Its head lines end with a bare LF.
    web.script('/frame', raw(`HTTP/1.1 200 OK\nContent-Type: text/html\nConnection: close\n\n${frame}`));
    for (const name of ['frame', 'doc', 'data'])
      web.script(
        `/${name}.js`,
        answer(`document.write('by ${name}')`, { headers: { 'content-type': 'text/javascript' } }),
      );
    web.script(
      '/whole',
      answer('all of it', {
        status: 206,
        headers: { 'content-type': 'text/plain', 'Content-Range': 'bytes 0-8/9' },
      }),
    );
    const sign = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>';
    web.script(
      '/sign',
      answer(sign, {
        status: 206,
        headers: {
          'content-type': 'image/svg+xml',
          'Content-Range': `bytes 0-${sign.length - 1}/${sign.length}`,
        },
      }),
    );
    const { node, page, text } = await captured(web);
    for (const words of ['all of it', 'refused', 'framed', 'by frame', 'by doc', 'by data'])
      expect(text).toContain(words);
    expect(page.requests.filter(({ reason }) => reason !== null)).toMatchObject([
      { method: 'PUT', reason: 'method' },
    ]);
    const again = (await (
      await node.node.sendJson('POST', `/archive/pages/${page.id}/draw`, {})
    ).json()) as ArchivedDraw;
    expect(again).toMatchObject({ text: page.text });
    expect(again.requests.filter(({ reason }) => reason !== null)).toMatchObject([
      { method: 'PUT', reason: 'method' },
    ]);
    const shown = await node.read<PageResources>(`/archive/${page.document}/page/resources`);
    expect(shown.used.map(({ sha256 }) => sha256)).toContain(sha256Of(sign));
    expect(shown.missing).toEqual([]);
  });

  test('a video without a source hides nothing of what is behind it', async () => {
    const web = await ScriptedWeb.open();
    const video = (attributes: string) =>
      `<body style="margin:0"><video ${attributes} style="display:block;width:300px;height:200px;background:#08f"></video>`;
    web.script('/page', answer(video(''), HTML));
    const { node, page } = await captured(web);
    const bytes = Buffer.from(await (await node.node.fetch(`/archive/${page.picture}`)).arrayBuffer());
    const { width, data } = PNG.sync.read(bytes);
    const colours = new Set(
      [10, 100, 190].map((y) =>
        data.subarray((y * width + 150) * 4, (y * width + 150) * 4 + 3).toString('hex'),
      ),
    );
    expect(colours).toEqual(new Set(['0088ff']));
  });
});
