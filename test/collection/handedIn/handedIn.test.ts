import { load } from 'cheerio';
import { afterEach, expect, test } from 'vitest';
import type { Event } from '../../../shared/collection/event.ts';
import type { HandIn } from '../../../shared/collection/handedIn.ts';
import { HANDED_IN_WORDS } from '../../../shared/collection/observers.ts';
import type { ProvenRetrievals } from '../../../shared/collection/retrieval.ts';
import type { ObjectView, PageResources } from '../../../shared/collection/view.ts';
import { sha256Of } from '../../support/archive/packs.ts';
import { share } from '../../support/network/sharing.ts';
import { closeTestNodes } from '../../support/node.ts';
import { PIXEL, savedPage } from '../../support/savedPages.ts';
import { seen } from '../../withholding/quotes.ts';
import { openCollectingNode } from '../support.ts';
import { handIn, readHandIn, refusedWith, sendFile } from './support.ts';

afterEach(closeTestNodes);

const URL_SEEN = 'https://bank.example/account?page=2';
const DOCUMENT = `<!doctype html><html><head><title>Account</title>
<link rel="stylesheet" href="cid:css-1@mhtml.blink"><script>alert(1)</script></head>
<body onload="alert(2)"><h1>Balance — 12 €</h1><p>Only for you.</p>
<div><template shadowmode="open"><b>In a shadow tree</b><img src=x onerror="alert(3)"><script>alert(4)</script></template></div>
<template><b>alert</b></template>
<img src="https://bank.example/logo.png" alt="logo"><img src="https://bank.example/none.png" alt="none">
<iframe src="cid:frame-1@mhtml.blink"></iframe></body></html>`;
const STYLE = 'h1 { color: green; background: url("https://bank.example/logo.png") }';
const PAGE = savedPage(URL_SEEN, [
  {
    type: 'text/html',
    id: 'frame-0@mhtml.blink',
    location: URL_SEEN,
    encoding: 'quoted-printable',
    content: DOCUMENT,
  },
  { type: 'text/css', location: 'cid:css-1@mhtml.blink', encoding: 'quoted-printable', content: STYLE },
  { type: 'image/png', location: 'https://bank.example/logo.png', encoding: 'base64', content: PIXEL },
  {
    type: 'text/html',
    id: 'frame-1@mhtml.blink',
    location: 'https://bank.example/frame',
    encoding: 'binary',
    content: '<p>Inner</p>',
  },
]);
const SEEN = '2026-11-24T10:00:00.000Z';

test('a saved page is kept byte for byte, with its parts as retrievals by the person, withheld from birth', async () => {
  const node = await openCollectingNode();
  await share(node.node, 'read');
  const handed = await handIn(node.node, PAGE, 'multipart/related', {
    title: 'My account',
    seen_at: SEEN,
    note: 'Seen after I signed in.',
    name: 'Ada',
  });
  expect(handed).toMatchObject({
    observer: 'handed-in:Ada',
    url: URL_SEEN,
    title: 'My account',
    note: 'Seen after I signed in.',
    seen_at: SEEN,
    kind: 'mhtml',
    label: HANDED_IN_WORDS,
    file: { sha256: sha256Of(PAGE), bytes: PAGE.length },
    document: sha256Of(DOCUMENT),
    withheld: { reason: 'login' },
    page: null,
  });
  expect(handed.parts.map(({ name, sha256 }) => [name, sha256])).toEqual([
    [URL_SEEN, sha256Of(DOCUMENT)],
    ['cid:css-1@mhtml.blink', sha256Of(STYLE)],
    ['https://bank.example/logo.png', sha256Of(PIXEL)],
    ['https://bank.example/frame', sha256Of('<p>Inner</p>')],
  ]);

  const digests = [handed.file.sha256, ...handed.parts.map(({ sha256 }) => String(sha256))];
  for (const sha256 of digests) {
    expect((await node.node.fetchAsOwner(`/archive/${sha256}`)).status).toBe(200);
    expect((await node.node.fetch(`/archive/${sha256}`)).status).toBe(451);
  }
  const bytes = await (await node.node.fetchAsOwner(`/archive/${handed.file.sha256}`)).arrayBuffer();
  expect(Buffer.from(bytes).equals(PAGE)).toBe(true);

  const [retrieval] = await node.retrievals(handed.source);
  expect(retrieval).toMatchObject({
    id: handed.retrieval,
    observer: 'handed-in:Ada',
    url: URL_SEEN,
    original_observed_at: SEEN,
    status: null,
    error: null,
    sha256: handed.document,
  });
  expect(retrieval?.ledger_entry).toBeGreaterThan(0);
  const parts = await node.read<ProvenRetrievals>(`/api/retrievals?part_of=${handed.id}`);
  expect(parts.items.map(({ retrieval: { url, observer, sha256 } }) => [url, observer, sha256])).toEqual([
    [URL_SEEN, 'handed-in:Ada', sha256Of(PAGE)],
    [URL_SEEN, 'handed-in:Ada', sha256Of(STYLE)],
    ['https://bank.example/logo.png', 'handed-in:Ada', sha256Of(PIXEL)],
    ['https://bank.example/frame', 'handed-in:Ada', sha256Of('<p>Inner</p>')],
  ]);
  expect(await node.events()).toMatchObject([
    {
      event_type: 'first_seen',
      observer: 'handed-in:Ada',
      original_observed_at: SEEN,
      sha256: handed.document,
    },
  ]);
  const listed = await node.read<{ items: HandIn[]; total: number }>('/manage/handed-in?limit=1');
  expect(listed).toMatchObject({ total: 1, items: [{ id: handed.id, part_count: 4 }] });
  expect((await node.node.fetch('/manage/handed-in')).status).toBe(401);
  expect(await readHandIn(node.node, handed.id)).toEqual({ ...handed, comparison: null });
  const ledger = await node.read<{ items: { type: string; subject: string }[] }>('/api/ledger?limit=100');
  expect(ledger.items.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['page.handed_in', 'object.withheld', 'retrievals.recorded', 'event.recorded']),
  );
});

test('a saved page of one part is kept, and folded or encoded addresses are read', async () => {
  const node = await openCollectingNode();
  const fields = (location: string) =>
    Buffer.from(
      `Subject: Fees\r\nMIME-Version: 1.0\r\nContent-Type: text/html; charset="utf-8"\r\nContent-Transfer-Encoding: quoted-printable\r\nContent-Location: ${location}\r\n\r\n<p>20=E2=82=AC</p>`,
    );
  for (const [location, url] of [
    ['https://bank.example/one', 'https://bank.example/one'],
    ['https://bank.example/a/long/\r\n path', 'https://bank.example/a/long/path'],
    ['=?utf-8?Q?https://bank.example/=C3=BC=5Fx?=', 'https://bank.example/%C3%BC_x'],
    ['=?utf-8?B?aHR0cHM6Ly9iYW5rLmV4YW1wbGUv?=\r\n =?utf-8?Q?two?=', 'https://bank.example/two'],
  ] as const) {
    const handed = await handIn(node.node, fields(location), 'multipart/related', { seen_at: SEEN });
    expect(handed).toMatchObject({ kind: 'mhtml', url, document: sha256Of('<p>20€</p>') });
    expect(handed.parts.map(({ name }) => name)).toEqual([url]);
  }
});

test('the view shows the page with its own parts, and nothing in it runs', async () => {
  const node = await openCollectingNode();
  const handed = await handIn(node.node, PAGE, 'multipart/related', { seen_at: SEEN });
  const query = `source=${handed.source}&at=${SEEN}`;
  const view = await node.read<ObjectView>(`/archive/${handed.document}/view?${query}`);
  expect(view).toMatchObject({ kind: 'html', observer: handed.observer, at: SEEN });
  const shown = await node.node.fetchAsOwner(`/archive/${handed.document}/page?${query}`);
  const html = await shown.text();
  const $ = load(html);
  expect(html).not.toMatch(/alert|onload/);
  expect(html).toContain('<template shadowrootmode="open"><b>In a shadow tree</b>');
  expect($('h1').text()).toBe('Balance — 12 €');
  expect($('style').text()).toContain('color: green');
  expect($('img[alt=logo]').attr('src')).toBe(`data:image/png;base64,${PIXEL.toString('base64')}`);
  expect($('img[alt=none]').attr('data-strongroom-missing')).toBeDefined();
  expect($('a[data-strongroom-frame]').attr('href')).toContain(`/view/${sha256Of('<p>Inner</p>')}`);
  const resources = await node.read<PageResources>(`/archive/${handed.document}/page/resources?${query}`);
  expect(resources.used.map(({ sha256 }) => sha256)).toEqual([sha256Of(STYLE), sha256Of(PIXEL)]);
});

test('an HTML file, a PDF and a picture are their own documents, and may be shown at once', async () => {
  const node = await openCollectingNode();
  await share(node.node, 'read');
  const html = Buffer.from('<!doctype html><title>One file</title><p>Text</p>');
  const form = new FormData();
  form.set('url', 'https://shop.example/');
  form.set('file', new File([html], 'page.html', { type: 'text/html' }));
  form.set('withheld', 'false');
  const answer = await node.node.fetchAsOwner('/manage/handed-in', { method: 'POST', body: form });
  expect(answer.status).toBe(201);
  const handed = (await answer.json()) as HandIn;
  expect(handed).toMatchObject({ kind: 'html', document: sha256Of(html), withheld: null, page_error: null });
  expect(answer.headers.get('Location')).toBe(`/manage/handed-in/${handed.id}`);
  expect(await (await node.node.fetch(`/archive/${handed.document}`)).text()).toBe(html.toString());

  const picture = await handIn(node.node, PIXEL, 'image/png', { url: 'https://shop.example/p.png' });
  expect(picture).toMatchObject({
    kind: 'picture',
    file: { media_type: 'image/png' },
    withheld: { reason: 'login' },
  });
  const pdf = Buffer.from('%PDF-1.4\n%%EOF\n');
  expect(
    await handIn(node.node, pdf, 'application/pdf', { url: 'https://shop.example/p.pdf' }),
  ).toMatchObject({
    kind: 'pdf',
    document: sha256Of(pdf),
  });
});

test('the same file, address and time are recorded once', async () => {
  const node = await openCollectingNode();
  const said = { url: 'https://shop.example/', seen_at: '2026-11-24T11:00:00+01:00' };
  const html = Buffer.from('<html><p>Text</p></html>');
  const first = await handIn(node.node, html, 'text/html', said);
  expect(first.seen_at).toBe(SEEN);
  const again = await sendFile(node.node, html, 'text/html', said);
  expect(again.status).toBe(200);
  expect(await again.json()).toEqual(first);
  const later = await handIn(node.node, Buffer.from('<html><p>Other</p></html>'), 'text/html', {
    url: said.url,
  });
  expect((await node.events()).map(({ event_type, sha256 }: Event) => [event_type, sha256])).toEqual([
    ['changed', later.document],
    ['first_seen', first.document],
  ]);
});

test('what is wrong is refused with its reason, and leaves nothing', async () => {
  const node = await openCollectingNode();
  const html = Buffer.from('<html><p>Text</p></html>');
  const refusal = async (said: Record<string, string>, body = html, type = 'text/html') =>
    (await refusedWith(await sendFile(node.node, body, type, said))).slice(0, 2);
  expect(await refusal({})).toEqual([422, 'invalid_field']);
  expect(await refusal({ url: 'https://user:secret@shop.example/' })).toEqual([422, 'invalid_field']);
  expect(await refusal({ url: 'https://shop.example/', seen_at: '2999-01-01T00:00:00Z' })).toEqual([
    422,
    'invalid_field',
  ]);
  expect(await refusal({ url: 'ftp://shop.example/' })).toEqual([400, 'invalid_parameter']);
  expect(await refusal({ url: 'https://shop.example/', colour: 'red' })).toEqual([400, 'unknown_parameter']);
  expect(await refusal({ url: 'https://shop.example/' }, Buffer.from('words'), 'image/png')).toEqual([
    415,
    'unsupported_media_type',
  ]);
  expect(await refusal({ url: 'https://shop.example/' }, html, 'application/json')).toEqual([
    415,
    'unsupported_media_type',
  ]);
  const form = new FormData();
  form.set('url', 'https://shop.example/');
  form.set('colour', 'red');
  form.set('file', new File([html], 'page.html', { type: 'text/html' }));
  const refused = await node.node.fetchAsOwner('/manage/handed-in', { method: 'POST', body: form });
  expect((await refusedWith(refused)).slice(0, 2)).toEqual([422, 'unknown_field']);
  form.delete('colour');
  form.delete('file');
  const empty = await node.node.fetchAsOwner('/manage/handed-in', { method: 'POST', body: form });
  expect((await refusedWith(empty)).slice(0, 2)).toEqual([400, 'invalid_multipart']);
  expect(await node.read('/manage/handed-in')).toMatchObject({ total: 0 });
  expect(await node.events()).toEqual([]);
});

test('observers of imports and names of peers cannot stand for a person', async () => {
  const node = await openCollectingNode();
  const answer = await node.node.fetchAsOwner('/manage/captures?observer=handed-in:Ada', {
    method: 'POST',
    body: 'WARC/1.1',
    headers: { 'Content-Type': 'application/warc' },
  });
  expect((await refusedWith(answer)).slice(0, 2)).toEqual([400, 'invalid_parameter']);
});

test('names of files in the media types of a saved page are not recorded', async () => {
  const node = await openCollectingNode();
  const file = savedPage(URL_SEEN, [
    { type: 'text/html; charset=utf-8; name="lovelace.html"', location: URL_SEEN, content: '<p>Mine</p>' },
    { type: 'image/png; name="lovelace.png"', location: 'https://bank.example/logo.png', content: PIXEL },
  ]);
  const handed = await handIn(node.node, file, 'multipart/related; name="lovelace.mhtml"');
  expect(handed.file.media_type).toBe('multipart/related');
  expect(handed.parts.map(({ content_type }) => content_type)).toEqual([
    'text/html; charset=utf-8',
    'image/png',
  ]);
  expect(await seen(node.node, 'lovelace')).toEqual([]);
  const bytes = await node.node.fetchAsOwner(`/archive/${handed.file.sha256}`);
  expect(sha256Of(Buffer.from(await bytes.arrayBuffer()))).toBe(handed.file.sha256);
});
