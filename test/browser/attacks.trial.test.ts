import { afterAll, beforeAll, expect, test } from 'vitest';
import { answer, gateTo, openBrowser, ScriptedGate, SITE } from './support.ts';

/*
 * Pages that attack the node itself: what is read of them, and the list of what they asked for.
 */
let browser: Awaited<ReturnType<typeof openBrowser>>;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
});

test('a page that shows the marks of frames itself is not made longer by them', async () => {
  const marks = '\u{e000}1\u{e001}'.repeat(20_000);
  const gate = new ScriptedGate(({ url }) =>
    answer(
      url === SITE ? `<p>${marks}<iframe src="/inner"></iframe>end` : `<p>${'inner '.repeat(2_000)}${marks}`,
    ),
  );
  const page = await browser.draw(gate);
  expect(page.text.length).toBeLessThan(200_000);
  expect(page.document.length).toBeLessThan(1_000_000);
  expect(page.text.match(/inner/g)).toHaveLength(2_000);
});

test('frames in frames are cut off where they get too many', async () => {
  const gate = new ScriptedGate(({ url }) => {
    const depth = Number(new URL(url).searchParams.get('n'));
    return answer(`<p>level ${depth}${depth < 14 ? `<iframe src="/?n=${depth + 1}"></iframe>` : ''}`);
  });
  const page = await browser.draw(gate);
  expect(page.text).toMatch(/^level 0\nlevel 1\n/);
  expect(page.text.split('\n').length).toBeLessThan(13);
  expect(page).toMatchObject({ outcome: 'cut', reason: 'bytes' });
});

test('elements that are named like members of a form or a document hide nothing', async () => {
  const names = [
    'childNodes',
    'attributes',
    'localName',
    'shadowRoot',
    'hasAttribute',
    'getAttribute',
    'nodeType',
    'contentDocument',
    'matches',
    'style',
  ];
  const inputs = names.map((name) => `<input name="${name}" value="in ${name}">`).join('');
  const covers = [
    'body',
    'title',
    'documentElement',
    'baseURI',
    'getAnimations',
    'querySelectorAll',
    'scrollingElement',
    'compatMode',
    'doctype',
    'createElement',
  ];
  const html = `<title>Real</title><form>text ${inputs}</form>${covers.map((name) => `<img name="${name}"><form name="${name}"></form>`).join('')}<p>end`;
  const page = await browser.draw(gateTo(html));
  expect(page.title).toBe('Real');
  expect(page.text).toBe(`text ${names.map((name) => `in ${name}`).join(' ')}\nend\n`);
  expect(page.document).toContain('<p>end');
});

test('a document of millions of characters is read whole, and more is cut off', async () => {
  const html = (characters: number) =>
    `<p id="p">text<script>p.setAttribute('data-long', 'word '.repeat(${characters / 5}))</script>`;
  const whole = await browser.draw(gateTo(html(3_000_000)));
  expect(whole).toMatchObject({ outcome: 'complete', text: 'text\n' });
  expect(whole.document).toContain(`data-long="${'word '.repeat(600_000)}"`);
  const cut = await browser.draw(gateTo(html(25_000_000)));
  expect(cut).toMatchObject({ outcome: 'cut', reason: 'bytes', text: 'text\n' });
});

test('the list of requests is bounded, whatever a page asks for', async () => {
  const html = `<p>text<script>
    for (let i = 0; i < 2000; i++) fetch('/' + i + '?' + 'a'.repeat(9000)).catch(() => {});
    for (let i = 0; i < 500; i++) new WebSocket('ws://other.example/' + 'b'.repeat(9000));
    fetch('/', { method: 'M'.repeat(1000) }).catch(() => {});</script>`;
  const gate = gateTo(html);
  expect(await browser.draw(gate)).toMatchObject({ text: 'text\n', outcome: 'cut', reason: 'requests' });
  expect(gate.asked).toHaveLength(1);
  expect(gate.refused).toHaveLength(100);
  expect(Math.max(...gate.refused.map(({ url }) => url.length))).toBe(8_192);
});

test('answers that arrive at the same time share the bytes of the page', async () => {
  const html = '<p id="p">text<script>for (let i = 0; i < 50; i++) fetch("/" + i).catch(() => {})</script>';
  const gate = new ScriptedGate(({ isMainDocument }) => answer(isMainDocument ? html : 'x'.repeat(100_000)));
  const page = await browser.draw(gate, { maxBytes: 1_000_000 });
  expect(page).toMatchObject({ outcome: 'cut', reason: 'bytes' });
  expect(gate.refused.length + gate.asked.length).toBe(51);
});

test('a draw that is given up leaves no error behind', async () => {
  const aborting = new AbortController();
  const gate = gateTo('<p>text<script>fetch("/slow")</script>');
  gate.answer = () => {
    aborting.abort();
    return new Promise(() => {});
  };
  await expect(browser.draw(gate, { signal: aborting.signal })).rejects.toThrow('aborted');
  expect((await browser.draw(gateTo('<p>next'))).text).toBe('next\n');
});
