import { describe, expect, test } from 'vitest';
import { detectPageLabel, scriptShellReason } from '../../../server/collection/record/quality/judgePage.ts';
import { maxBlockedCpu } from '../../support/blockedCpu.ts';

const BANNER =
  'We use cookies to improve your experience on this site. By clicking “Accept all” you consent to the use of all cookies. Read our privacy policy to learn which data is collected, by whom, and for how long it is kept. You can change your choice at any time in the settings at the end of each page.';
const ARTICLE = `<h1>Levels</h1><p>${'The sea rose by four millimetres in the last year. '.repeat(20)}</p>`;

const page = (body: string, head = '<title>Levels</title>') =>
  `<!doctype html><html lang="en"><head>${head}</head><body>${body}</body></html>`;

describe('a page whose text is built by scripts is a shell', () => {
  test.each([
    [
      'React (Create React App)',
      page(
        '<noscript>You need to enable JavaScript to run this app.</noscript><div id="root"></div><script src="/static/js/main.js"></script>',
      ),
    ],
    [
      'Vue (Vite)',
      page(
        '<div id="app"></div>',
        '<title>App</title><script type="module" crossorigin src="/assets/index.js"></script><style>body{margin:0;content:"many words of style are not text"}</style>',
      ),
    ],
    [
      'Angular',
      page(
        '<app-root></app-root><script src="runtime.js" type="module"></script><script src="main.js" type="module"></script>',
      ),
    ],
    [
      'Angular with a loading text',
      page('<app-root><div class="spinner"></div>Loading…</app-root><script src="main.js"></script>'),
    ],
    [
      'Next.js without server rendering',
      page(
        `<div id="__next"></div><script id="__NEXT_DATA__" type="application/json">${JSON.stringify({ text: ARTICLE.replace(/[<>]/g, '') })}</script>`,
        '<script src="/_next/static/chunks/main.js" defer=""></script>',
      ),
    ],
    [
      'nested elements in the root',
      page('<div id="app"><div><div></div></div></div><script src="a.js"></script>'),
    ],
    [
      'a root and a footer',
      page('<div id="root"></div><footer>© 2026 Agency. Imprint</footer><script src="a.js"></script>'),
    ],
    [
      'a root and a cookie banner',
      page(`<div id="root"></div><div class="banner">${BANNER}</div><script src="a.js"></script>`),
    ],
    ['no root and no text', page('<script src="/boot.js"></script>')],
    [
      'an unknown root and a request for JavaScript',
      page(
        '<div class="mount"></div><noscript><p>Please enable JavaScript.</p></noscript><p>Agency</p><script src="/x.js"></script>',
      ),
    ],
    [
      'a root of dots beside much white space',
      page(
        `<div id="root">Loading${'.'.repeat(5_000)}</div>${' &nbsp;\u200b&#160;'.repeat(1_000)}<script src="a.js"></script>`,
      ),
    ],
    [
      'tags in upper case and attributes without quotes',
      '<HTML><BODY><DIV ID=root></DIV><SCRIPT SRC=a.js></SCRIPT></BODY></HTML>',
    ],
  ])('%s', (_name, html) => {
    expect(scriptShellReason(html)).toMatch(/^Scripts build the visible content\. Only the shell is kept/);
  });

  test('the reason names the empty element', () => {
    expect(scriptShellReason(page('<div id="root"></div><script src="a.js"></script>'))).toBe(
      'Scripts build the visible content. Only the shell is kept: <div id="root"> is empty.',
    );
  });
});

describe('a page with text of its own is not a shell', () => {
  test.each([
    [
      'Next.js with server rendering',
      page(`<div id="__next"><main>${ARTICLE}</main></div><script src="/_next/main.js"></script>`),
    ],
    [
      'Vue with server rendering',
      page(
        `<div id="app" data-server-rendered="true"><div>${ARTICLE}</div></div><script src="a.js"></script>`,
      ),
    ],
    ['an article beside a widget', page(`${ARTICLE}<div id="app"></div><script src="comments.js"></script>`)],
    ['a short note without scripts', page('<p>Moved.</p>')],
    ['an empty page without scripts', page('')],
    ['structured data only', page('<script type="application/ld+json">{}</script>')],
    [
      'a short page with statistics',
      page('<h1>It works!</h1><script src="https://stats.example/s.js"></script>'),
    ],
    [
      'a short page that mentions JavaScript',
      page('<h1>JavaScript</h1><p>A language.</p><script src="s.js"></script>'),
    ],
    [
      'an article with a cookie banner',
      page(`${ARTICLE}<div>${BANNER}</div><div id="root"></div><script src="a.js"></script>`),
    ],
    ['a picture', page('<img src="map.png" alt=""><script src="s.js"></script>')],
    [
      'frames',
      '<html><head><script src="s.js"></script></head><frameset><frame src="a.html"></frameset></html>',
    ],
    [
      'a short text in the root',
      page('<div id="root"><p>The office is closed until Monday.</p></div><script src="a.js"></script>'),
    ],
    ['a form', page('<form action="/q"><input name="q"></form><script src="s.js"></script>')],
  ])('%s', (_name, html) => {
    expect(scriptShellReason(html)).toBeUndefined();
  });
});

const SHELL = page('<div id="root"></div><script src="a.js"></script>');
const labelOf = (html: string, more: object = {}) =>
  detectPageLabel({
    url: 'https://agency.example/a',
    final_url: 'https://agency.example/a',
    status: 200,
    headers: [],
    content_type: 'text/html',
    beginning: Buffer.from(html).subarray(0, 65_536),
    ...more,
  });

test('a shell is labelled, unless it is a bot wall or an error page, or has no success status', async () => {
  expect(await labelOf(SHELL)).toMatchObject({ label: 'script_shell' });
  expect(await labelOf(SHELL, { content_type: 'application/xml' })).toBeNull();
  expect(await labelOf(SHELL, { status: 404 })).toBeNull();
  expect(await labelOf(SHELL.replace('Levels', 'Just a moment...'))).toMatchObject({ label: 'bot_wall' });
  expect(await labelOf(SHELL.replace('Levels', 'Page not found'))).toMatchObject({ label: 'error_page' });
});

test('a page that is cut off at the judged length is not labelled', async () => {
  const style = `<style>${'p{color:red}'.repeat(6000)}</style>`;
  expect(await labelOf(SHELL.replace('</head>', `${style}</head>`))).toBeNull();
});

test('hostile markup is judged in linear time', async () => {
  const inputs = [
    '<'.repeat(65_536),
    '<!--'.repeat(16_384),
    '<a "'.repeat(16_384),
    "<a b='".repeat(10_922),
    '<script>'.repeat(8_192),
  ];
  for (const html of inputs) {
    const ms = await maxBlockedCpu(async () => scriptShellReason(html));
    expect(ms, html.slice(0, 8)).toBeLessThan(2_000);
  }
});
