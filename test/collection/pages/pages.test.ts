import { createHash } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import type { ArchivedDraw, PageCapture, PageComparison, PageList } from '../../../shared/collection/page.ts';
import { canonicalText } from '../../../shared/values/canonicalJson.ts';
import { page as answer, closeScriptedWebs, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
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
