import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PageRequestToAnswer } from '../../server/browser/requestGate.ts';
import { answer, gateTo, openBrowser, ScriptedGate, SITE, SVG } from './support.ts';

let browser: Awaited<ReturnType<typeof openBrowser>>;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
});

describe('what a page shows', () => {
  test.each<[what: string, html: string, text: string]>([
    [
      'blocks and lines',
      '<h1>Title</h1><p>One <b>bold</b> word<br>next line<div>block</div>',
      'Title\nOne bold word\nnext line\nblock\n',
    ],
    [
      'nothing that is hidden',
      '<p>shown<p style="display:none">no<p style="visibility:hidden">no<template>no</template><noscript>no</noscript><details><summary>more</summary>no</details>',
      'shown\nmore\n',
    ],
    [
      'cells of a table',
      '<table><tr><th>Name<th>Price<tr><td>Bread<td>2.10</table>',
      'Name\tPrice\nBread\t2.10\n',
    ],
    ['text as it is laid out', '<pre>a\n  b</pre>', 'a\nb\n'],
    ['links without their targets', '<p>See <a href="https://other.example/secret">here</a>', 'See here\n'],
    [
      'what was typed and chosen',
      '<input value="a" id="i"><select><option>x<option selected>y</select><textarea>t</textarea><input type="password" value="no"><script>i.value = "typed"</script>',
      'typed y t\n',
    ],
    ['text from right to left', '<p dir="rtl" lang="ar">مرحبا بالعالم', 'مرحبا بالعالم\n'],
    [
      'shadow trees, open and closed, with what is slotted',
      '<div id="a">light</div><div id="b"></div><script>a.attachShadow({mode:"open"}).innerHTML = "<p>open <slot></slot></p>"; b.attachShadow({mode:"closed"}).innerHTML = "<p>closed</p>"</script>',
      'open light\nclosed\n',
    ],
    [
      'the words of a drawing, and nothing of it that is hidden',
      '<svg><defs><text>no</text></defs><g display="none"><text>no</text></g><text>in a drawing</text><foreignObject width="99" height="99"><p>in HTML</p></foreignObject></svg>',
      'in a drawing\nin HTML\n',
    ],
    [
      'nothing that is for browsers of long ago',
      '<canvas>no</canvas><progress>no</progress><meter>no</meter><iframe>no</iframe><p>shown',
      'shown\n',
    ],
    [
      'what an object has instead, if it cannot be shown',
      '<object data="data:image/svg+xml,<svg xmlns=\'http://www.w3.org/2000/svg\'/>">no</object><object data="/none" type="x/none">shown</object>',
      'shown\n',
    ],
    [
      'a page at a desk: a mouse, a wide screen, light colours',
      '<p id="p"><script>p.textContent = ["(hover: hover)", "(pointer: fine)", "(any-pointer: fine)", "(prefers-color-scheme: light)"].map((query) => matchMedia(query).matches) + " " + [screen.width, screen.height]</script>',
      'true,true,true,true 800,600\n',
    ],
    [
      'what a router shows',
      '<p id="p">one<script>history.pushState({}, "", "/two"); p.textContent = location.pathname</script>',
      '/two\n',
    ],
    [
      'letters as they are written, whatever a style or a formula makes of them (decision 26)',
      '<p style="text-transform: uppercase">Written small<p><math><mi>x</mi><mo>=</mo><mn>2</mn></math>',
      'Written small\nx=2\n',
    ],
    [
      'what comes after a while',
      '<p id="p">-<script>setTimeout(() => p.textContent = "later", 1500)</script>',
      'later\n',
    ],
  ])('%s', async (_what, html, text) => {
    const page = await browser.draw(gateTo(html));
    expect(page.text).toBe(text);
    expect(page.document).not.toMatch(/<script|<noscript|\son\w+=/);
  });

  test('frames of this and of other sites, each as a document of its own', async () => {
    const gate = new ScriptedGate(({ url }) =>
      answer(
        url === SITE
          ? '<p>page<iframe src="/inner"></iframe><iframe src="https://other.example/"></iframe><iframe srcdoc="<p>given"></iframe><object data="/object" type="text/html">no</object><p>end'
          : `<p onclick="x()">${new URL(url).host}${new URL(url).pathname}<script>document.body.append(" by script")</script>`,
      ),
    );
    const page = await browser.draw(gate);
    expect(page.text).toBe(
      'page\nsite.example/inner\nby script\nother.example/\nby script\ngiven\nsite.example/object\nby script\nend\n',
    );
    expect(page.document.match(/srcdoc="/g)).toHaveLength(3);
    expect(page.document).not.toContain('x()');
  });

  test('what is loaded late, and by scrolling', async () => {
    const html = `<p>top<div style="height:3000px"></div><img loading="lazy" src="/late.svg"><p id="p">-
      <script>new IntersectionObserver(([seen]) => { if (seen.isIntersecting) fetch('/more').then((r) => r.text()).then((t) => p.textContent = t); }).observe(p)</script>`;
    const gate = new ScriptedGate(({ isMainDocument, url }) =>
      isMainDocument
        ? answer(html)
        : url.endsWith('svg')
          ? answer(SVG, 'image/svg+xml')
          : answer('loaded', 'text/plain'),
    );
    expect((await browser.draw(gate)).text).toBe('top\nloaded\n');
    expect(gate.asked.map(({ url }) => new URL(url).pathname).sort((a, b) => (a < b ? -1 : 1))).toEqual([
      '/',
      '/late.svg',
      '/more',
    ]);
  });

  test('a canvas as an image, styles of scripts, and the state of a form', async () => {
    const html = `<canvas id="c" width="20" height="20"></canvas><input type="checkbox" id="b"><style id="s"></style><script>
      c.getContext('2d').fillRect(0, 0, 9, 9); b.checked = true; s.sheet.insertRule('p { color: red }');
      const sheet = new CSSStyleSheet(); sheet.replaceSync('b { color: blue }'); document.adoptedStyleSheets = [sheet];</script>`;
    const { document } = await browser.draw(gateTo(html));
    expect(document).toContain('src="data:image/png;base64,');
    expect(document).toContain('checked=""');
    expect(document).toContain('p { color: red; }');
    expect(document).toContain('b { color: blue; }');
  });

  test('what frames and workers ask for goes through the gate too, with bodies and cookies', async () => {
    const gate = new ScriptedGate(({ url }) => {
      const { host, pathname } = new URL(url);
      if (url === SITE)
        return {
          ...answer(WITH_WORKER),
          headers: [
            ['content-type', 'text/html'],
            ['set-cookie', 'a=b; Path=/'],
          ],
        };
      const script = `fetch("/from-frame", { method: "POST", body: "b" })`;
      return pathname === '/frame' ? answer(`<script>${script}</script>`) : answer(host, 'text/plain');
    });
    await browser.draw(gate);
    const find = (path: string): PageRequestToAnswer | undefined =>
      gate.asked.find(({ url }) => new URL(url).pathname === path);
    expect(find('/from-frame')).toMatchObject({ method: 'POST', body: Buffer.from('b') });
    expect(find('/from-worker')).toBeDefined();
    const cookies = Object.entries(find('/from-page')?.headers ?? {}).find(
      ([name]) => name.toLowerCase() === 'cookie',
    );
    expect(cookies?.[1]).toBe('a=b');
  });
});

const WITH_WORKER = `<iframe src="https://other.example/frame"></iframe><script>
  fetch('/from-page');
  new Worker(URL.createObjectURL(new Blob(["fetch('https://site.example/from-worker')"])));
</script>`;

test('a page cannot have its frames put anywhere else', async () => {
  const mark = '\u{e000}1\u{e001}';
  const inner = `<p title=" onmouseover=alert(1) x=">hidden</p><p title="><script>alert(2)</script>">`;
  const gate = new ScriptedGate(({ isMainDocument }) =>
    answer(
      isMainDocument
        ? `<p>seen ${mark}<b title="${mark}">t</b><iframe src="/inner" style="display: none"></iframe>`
        : inner,
    ),
  );
  const page = await browser.draw(gate);
  expect(page.text).toBe(`seen ${mark}t\n`);
  expect(page.document).toContain(`<b title="${mark}">`);
  expect(page.document).toMatch(/<iframe src="\/inner" style="display: none" srcdoc="[^"]*hidden[^"]*">/);
});

test('a title and an address without end are cut off', async () => {
  const html = `<p>text<script>document.title = 'é'.repeat(3e5); history.pushState({}, '', '/?' + 'x'.repeat(2e5))</script>`;
  const { title, url } = await browser.draw(gateTo(html));
  expect(title).toBe('é'.repeat(1_000));
  expect(url).toBe(`${SITE}?`.padEnd(8_192, 'x'));
});

test('another seed and another time give other numbers', async () => {
  const html = '<p id="p"><script>p.textContent = Math.random() + " " + Date.now()</script>';
  const texts = new Set<string>();
  for (const options of [{}, { seed: 'fedcba9876543210' }, { startsAt: 1_000_000_000_000 }])
    texts.add((await browser.draw(gateTo(html), options)).text);
  expect(texts.size).toBe(3);
});
