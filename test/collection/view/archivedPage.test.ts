import { rm } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { load } from 'cheerio';
import { afterEach, expect, test } from 'vitest';
import { blobPath } from '../../../server/store/files.ts';
import { withhold } from '../../copies/withheldCopies.ts';
import { closeScriptedWebs } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { ViewNode } from './support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const NASTY = `<!doctype html><html manifest="/offline"><head><title>Nasty &amp; neat</title>
<base href="/deep/"><meta http-equiv="refresh" content="0;url=/gone"><meta charset="utf-8">
<link rel="stylesheet" href="style.css" media="screen"><link rel="preload" as="image" href="preload.png">
<link rel="dns-prefetch" href="//tracker.example"><script>document.title = 'ran'</script>
<style>body { background: url("bg.png") } @import "late.css"; p::before { content: "</style><script>alert(1)</script>" }</style>
</head><body onload="alert(1)" background="body.png">
<img src="held.png" onerror="alert(1)" alt="held"><img src="/missing.png" alt="missing">
<img srcset="small.png 1x, held.png 2x" alt="set">
<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" data-src="held.png" alt="lazy">
<picture><source srcset="none.webp" type="image/webp"><img src="held.png" alt="picture"></picture>
<a href="javascript:alert(1)">script</a> <a href="data:text/html,<script>alert(1)</script>">data</a>
<a href="/other" ping="/ping">held link</a> <a href="/dead">dead link</a> <a href="#part">part</a>
<form action="/send"><input name="q" formaction="/steal" autofocus><button>Go</button></form>
<iframe srcdoc="<script>alert(1)</script>" src="/frame"></iframe><iframe srcdoc="<p>inner"></iframe><iframe></iframe><object data="x.swf"></object><embed src="x.swf">
<svg><script>alert(1)</script><a xlink:href="javascript:alert(1)"><set attributeName="href" to="javascript:alert(1)"/><text>x</text></a>
<image xlink:href="held.png" onload="alert(1)"/><use href="https://evil.example/x.svg#a"/><style>a{fill:url(https://evil.example/f)}</style></svg>
<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">
</table></mtext></math>
<noscript><img src="held.png" alt="noscript"></noscript><template><img src=x></template>
<div style="background:url(held.png);width:expression(alert(1))">styled</div><p id="part">Text</p></body></html>`;

async function openNasty() {
  const node = await ViewNode.open();
  await node.archive(
    '/deep/style.css',
    "@charset \"utf-8\"; @import url('more.css') screen and (min-width: 1px); @font-face { font-family: F; src: url(font.woff2) format('woff2'), url(absent.woff) } p { color: red",
    {
      'Content-Type': 'text/css',
    },
  );
  await node.archive(
    '/deep/more.css',
    '@import "style.css"; h1 { background: image-set("held.png" 1x, url(none.png) 2x) }',
    {
      'Content-Type': 'text/css',
    },
  );
  await node.archive('/deep/held.png', PIXEL, { 'Content-Type': 'image/png' });
  await node.archive('/deep/font.woff2', Buffer.from('wOF2 not really'), { 'Content-Type': 'font/woff2' });
  await node.archive('/other', '<title>Other</title>');
  const digest = await node.archive('/page', NASTY, { 'Content-Type': 'text/html' });
  return { node, digest };
}

test('a nasty page keeps its looks and nothing that runs, sends, loads or navigates', async () => {
  const { node, digest } = await openNasty();
  const before = node.web.requestCount;
  const html = await node.page(digest);

  const $ = load(html);
  const elements = $('*').toArray();
  const forbidden =
    'script,iframe,object,embed,form,base,link,template,set,meta:not([charset]),[srcdoc],[ping],[action]';
  expect(
    $(forbidden)
      .toArray()
      .map(({ name }) => name),
  ).toEqual([]);
  const attributes = elements.flatMap((one) => ('attribs' in one ? Object.entries(one.attribs) : []));
  expect(attributes.filter(([name]) => name.startsWith('on'))).toEqual([]);
  const addresses = attributes.filter(([name]) =>
    /^(.*:)?(src|href|srcset|poster|background|data|formaction)$/.test(name),
  );
  expect(addresses.length).toBeGreaterThan(6);
  for (const [, value] of addresses) expect(value).toMatch(/^(data:image\/|#|\/view\/[0-9a-f]{64}\?)/);
  expect(html).not.toMatch(/url\((?!"(data:|#)|&quot;data:)/i);
  expect(html).not.toMatch(/evil\.example|tracker\.example/);
  expect(html).toContain('<title>Nasty &amp; neat</title>');
  expect(html).toContain(`background:url(&quot;data:image/png;base64,${PIXEL.toString('base64')}&quot;)`);
  expect(html).toContain('url("data:font/woff2;base64,');
  expect(html).toContain('@media screen and (min-width: 1px){');
  expect($('img[src^="data:image/png"]').length).toBe(5);
  expect(html).toMatch(/<style media="screen">[^]*p \{ color: red\}/);
  expect(html).toMatch(
    /<a href="\/view\/[0-9a-f]{64}\?source=so_[0-9a-f]{20}&amp;at=[^"]+" target="_top">held link/,
  );
  expect(html).toMatch(/<a data-strongroom-dead="" title="http:[^"]+\/dead">dead link/);
  expect(html).toContain('<a href="#part">part</a>');
  const frames = $('[data-strongroom-frame]').toArray();
  expect(frames.map((frame) => $(frame).text())).toEqual([
    `Frame: ${node.url('/frame')}`,
    'Frame without an address: its content is not shown here',
  ]);
  expect(html).toMatch(/<input disabled="">/);
  expect(node.web.requestCount).toBe(before);
});

test('a shadow tree is shown, by the same rules, and no other template', async () => {
  const node = await ViewNode.open();
  await node.archive('/held.png', PIXEL, { 'Content-Type': 'image/png' });
  const tree =
    '<style>p { background: url(/held.png) }</style><p onclick="alert(1)">in the tree <slot></slot><script>alert(1)</script><img src="/held.png"><template><img src="/held.png"></template>';
  const digest = await node.archive(
    '/tree',
    `<x-card>light<template shadowrootmode="closed" onload="alert(1)">${tree}<x-in><template shadowrootmode="open"><a href="javascript:alert(1)">inner</a></template></x-in></template></x-card><svg><template shadowrootmode="open"><text>no</text></template></svg>`,
    { 'Content-Type': 'text/html' },
  );
  const html = await node.page(digest);
  expect(html.match(/<template[^>]*>/g)).toEqual([
    '<template shadowrootmode="open">',
    '<template shadowrootmode="open">',
  ]);
  expect(html).toMatch(/in the tree <slot><\/slot><img src="data:image\/png/);
  expect(html).toContain('background: url("data:image/png');
  expect(html).toContain('inner</a>');
  expect(html).not.toMatch(/<script|onclick|onload|href=|>no</);
});

test('what is missing and what is used is listed, each once', async () => {
  const { node, digest } = await openNasty();
  const { title, missing, used, truncated } = await node.resources(digest);
  expect(title).toBe('Nasty & neat');
  expect(truncated).toBe(false);
  const paths = (list: { url: string }[]) => list.map(({ url }) => new URL(url).pathname).sort();
  expect(paths(missing)).toEqual([
    '/deep/absent.woff',
    '/deep/bg.png',
    '/deep/body.png',
    '/deep/late.css',
    '/deep/none.png',
    '/f',
    '/missing.png',
  ]);
  expect(missing.every(({ reason }) => reason === 'not_held')).toBe(true);
  expect(paths(used)).toEqual(['/deep/font.woff2', '/deep/held.png', '/deep/more.css', '/deep/style.css']);
});

test('the page is sent with a policy that loads nothing, and only to a page of this node', async () => {
  const { node, digest } = await openNasty();
  const answer = await node.get(`/archive/${digest}/page`, { headers: { 'Sec-Fetch-Site': 'same-origin' } });
  expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
  const policy = answer.headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'self'");
  expect(policy).toMatch(/sandbox allow-top-navigation-by-user-activation$/);
  expect(policy).not.toMatch(/allow-scripts|allow-same-origin|allow-forms|script-src|connect-src/);
  for (const path of ['page', 'page/resources', 'view']) {
    const refused = await node.get(`/archive/${digest}/${path}`, {
      headers: { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'iframe' },
    });
    expect(refused.status).toBe(403);
  }
});

test('pages in windows-1252, encoded with gzip, or with damaged markup are shown', async () => {
  const node = await ViewNode.open();
  const latin = Buffer.from('<title>Caf\xe9</title><p>\x80 5 \x96 na\xefve', 'latin1');
  const old = await node.archive('/latin', latin, { 'Content-Type': 'text/html; charset=windows-1252' });
  expect(await node.page(old)).toContain('<p>€ 5 – naïve</p>');
  const zipped = gzipSync('<p>zipped <b>bold');
  const digest = await node.archive('/zipped', zipped, { 'Content-Encoding': 'gzip' });
  expect(await node.page(digest)).toContain('<p>zipped <b>bold</b></p>');
});

// The text of the hostile page is extracted first, and takes its full time.
test('a page of five megabytes that nests without end is refused, and the node goes on', async () => {
  const node = await ViewNode.open();
  const deep = await node.archive('/deep', '<div>'.repeat(1_048_576), { 'Content-Type': 'text/html' });
  const wide = await node.archive('/wide', '<p><b>text</b> '.repeat(30_000), {
    'Content-Type': 'text/html',
  });
  const refused = await node.get(`/archive/${deep}/page`);
  expect(refused.status).toBe(404);
  expect(await refused.json()).toMatchObject({ code: 'not_derivable', reason: 'too_large' });
  expect((await node.page(wide)).length).toBeGreaterThan(500_000);
  expect((await node.get('/api/health')).status).toBe(200);
});

test('an element with attributes without end is refused, and the refusal is remembered', async () => {
  const node = await ViewNode.open();
  const attributes = (count: number) =>
    `<p ${Array.from({ length: count }, (_, index) => `data-a${index}`).join(' ')}>text`;
  const many = await node.archive('/many', attributes(200_000), { 'Content-Type': 'text/html' });
  const some = await node.archive('/some', attributes(400), { 'Content-Type': 'text/html' });
  const refusal = async () => (await node.get(`/archive/${many}/page`)).json();
  expect(await refusal()).toMatchObject({ code: 'not_derivable', reason: 'too_large' });
  // Without the bytes the page could not be made again.
  await rm(blobPath(node.collecting.node.dataFolder, many));
  expect(await refusal()).toMatchObject({ code: 'not_derivable', reason: 'too_large' });
  expect(await node.page(some)).toContain('data-a399');
});

test('styles that import each other end, and a stylesheet bomb is left out', async () => {
  const node = await ViewNode.open();
  const imports = (next: number) => `@import "/${next}.css";`.repeat(9);
  for (let level = 1; level <= 5; level += 1)
    await node.archive(`/${level}.css`, `${imports(level + 1)} p { order: ${level} }`, {
      'Content-Type': 'text/css',
    });
  const digest = await node.archive('/bomb', '<link rel=stylesheet href=/1.css><p>shown');
  expect((await node.page(digest)).length).toBeLessThan(100_000);
  const { missing } = await node.resources(digest);
  expect(missing.map(({ reason }) => reason)).toContain('too_large');
});

test('an image that fits only some of the times that a page uses it is left out everywhere once it is withheld', async () => {
  const node = await ViewNode.open();
  const image = Buffer.concat([PIXEL, Buffer.alloc(8_000_000, 7)]);
  const withheld = await node.archive('/image', image, { 'Content-Type': 'image/png' });
  const digest = await node.archive('/page', '<p>words<img src=/image>'.repeat(4));
  const encoded = image.toString('base64');
  const seen = async () => (await node.page(digest)).split(encoded).length - 1;
  expect(await seen()).toBe(3);
  const { used, missing } = await node.resources(digest);
  const url = node.url('/image');
  expect([used, missing]).toMatchObject([[{ url, sha256: withheld }], [{ url, reason: 'too_large' }]]);
  await withhold(node.collecting.node, { sha256: withheld });
  expect(await seen()).toBe(0);
  expect((await node.resources(digest)).missing).toEqual([{ url, reason: 'withheld' }]);
});

test('the nearest capture in time is used, and the neighbouring versions are named', async () => {
  const node = await ViewNode.open();
  const first = Buffer.from('first image');
  const second = Buffer.from('second image');
  await node.archive('/image', first, { 'Content-Type': 'image/png' });
  const old = await node.archive('/page', '<img src=/image>one');
  const next = await node.archive('/page', '<img src=/image>two');
  await node.archive('/pause', 'a minute');
  await node.archive('/image', second, { 'Content-Type': 'image/png' });
  const last = await node.archive('/page', '<img src=/image>three');
  expect(await node.page(old)).toContain(first.toString('base64'));
  expect(await node.page(last)).toContain(second.toString('base64'));
  const view = await node.view(next);
  expect(view).toMatchObject({ kind: 'html', observer: 'self', original_observed_at: null, status: 200 });
  expect([view.older?.sha256, view.newer?.sha256]).toEqual([old, last]);
  expect(view.event).toBeGreaterThan(0);
  const at = `?source=${view.source.id}&at=${view.at}`;
  expect((await node.view(next, at)).at).toBe(view.at);
  expect((await node.view(old)).older).toBeNull();
});

test('unknown objects, sources and parameters are refused', async () => {
  const node = await ViewNode.open();
  const digest = await node.archive('/page', '<p>page');
  const other = await node.collecting.watch(node.url('/elsewhere'));
  const statusOf = async (path: string) => (await node.get(path)).status;
  expect(await statusOf(`/archive/${'0'.repeat(64)}/view`)).toBe(404);
  expect(await statusOf('/archive/nonsense/page')).toBe(400);
  expect(await statusOf(`/archive/${digest}/page?source=${other.id}`)).toBe(404);
  expect(await statusOf(`/archive/${digest}/view?source=nonsense`)).toBe(400);
  expect(await statusOf(`/archive/${digest}/view?at=yesterday`)).toBe(400);
  expect(await statusOf(`/archive/${digest}/view?more=1`)).toBe(400);
  const text = await node.archive('/text', 'plain', { 'Content-Type': 'text/plain' });
  expect(await statusOf(`/archive/${text}/page`)).toBe(404);
});
