import { load } from 'cheerio';
import { afterEach, expect, test } from 'vitest';
import { closeScriptedWebs } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { ViewNode } from './support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const TYPE = { 'Content-Type': 'text/html' };
const HIDDEN = '<title><a title="</title><img src=https://evil.example/1><a href=https://evil.example/2>">';

/** Pages whose written form a browser could read differently from the archived form. */
const READ_DIFFERENTLY = [
  `<svg><form>${HIDDEN}`,
  `<svg><xmp>${HIDDEN}`,
  `<svg><plaintext>${HIDDEN}`,
  `<math><annotation-xml encoding='text/url(a"b)html'>${HIDDEN}`,
  `<textarea title="</textarea><img src=https://evil.example/1>">`,
];

test('elements hidden in attributes stay text, however a browser reads the page', async () => {
  const node = await ViewNode.open();
  for (const [index, html] of READ_DIFFERENTLY.entries()) {
    const digest = await node.archive(`/mutation/${index}`, html, TYPE);
    const shown = await node.page(digest);
    const $ = load(shown);
    expect($('img').length, shown).toBe(0);
    expect($('[src],[href]').length, shown).toBe(0);
    expect(shown).not.toMatch(/<img|<a href/);
  }
});

test('an SVG image in a data URL keeps its markup', async () => {
  const node = await ViewNode.open();
  const digest = await node.archive('/svg', `<img src="data:image/svg+xml,<svg><a/></svg>" alt="a<b">`, TYPE);
  const $ = load(await node.page(digest));
  expect($('img').attr('src')).toBe('data:image/svg+xml,%3Csvg>%3Ca/>%3C/svg>');
  expect($('img').attr('alt')).toBe('a< b');
});

test.each([
  ['tokens that are left out do not join their neighbours', 'background:u<!--rl(https://evil.example/a)'],
  [
    'a variable gives no address to an image set',
    '--x:"https://evil.example/a";background:image-set(var(--x) 1x)',
  ],
  ['a fallback gives no address either', 'background:image-set(var(--y,"https://evil.example/a") 1x)'],
  ['nor does a nested string', 'background:-webkit-image-set(if(else:"https://evil.example/a") 1x)'],
])('styles: %s', async (_title, css) => {
  const node = await ViewNode.open();
  const page = `<style>a{${css}}</style><svg><rect fill='u<!--rl(https://evil.example/a)\\'/></svg>`;
  const shown = await node.page(await node.archive('/css', page, TYPE));
  expect(shown).not.toMatch(/url\(\s*"?https?:/);
  expect(shown).not.toMatch(/image-set\((var|if|"https)/);
});

test('pages that repeat their own text, list candidates without end or fill the head are refused or shown in bounds', async () => {
  const node = await ViewNode.open();
  const long = `<base href="http://127.0.0.1/${'x'.repeat(480)}/">`;
  const images = Array.from({ length: 6_000 }, (_, index) => `<img src=${index}>`).join('');
  const missing = await node.archive('/missing', long + images, TYPE);
  expect((await node.resources(missing)).missing).toHaveLength(2_000);

  const commas = await node.archive('/commas', `<img srcset="${','.repeat(4_000)}"><p>shown`, TYPE);
  expect(await node.page(commas)).toContain('<p>shown</p>');

  const head = await node.archive('/head', `${'<meta>'.repeat(200_000)}<p>shown`, TYPE);
  expect(await node.page(head)).toContain('<p>shown</p>');

  const repeated = `<p><font face="${'x'.repeat(1_000_000)}">${'<p>x'.repeat(100)}`;
  const refused = await node.get(`/archive/${await node.archive('/repeated', repeated, TYPE)}/page`);
  expect(await refused.json()).toMatchObject({ code: 'not_derivable', reason: 'too_large' });
});
