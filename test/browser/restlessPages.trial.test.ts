import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answer, gateTo, openBrowser, ScriptedGate, SITE, VIDEO } from './support.ts';

/*
 * What a page shows does not depend on how long its answers take. Here they take seconds, so that a page that followed
 * the browser's own clock would show something else.
 */
let browser: Awaited<ReturnType<typeof openBrowser>>;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
});

/** Clocks, random numbers, timers, animations and canvases. */
const RESTLESS = [
  '<p id="p"><script>setInterval(() => p.textContent = new Date().toISOString() + performance.now(), 100)</script>',
  '<p id="p"><script>p.textContent = [Math.random(), crypto.randomUUID(), crypto.getRandomValues(new Uint8Array(4))].join()</script>',
  '<style>@keyframes k { to { transform: translate(300px) } } div { width: 50px; height: 50px; background: red; animation: k 2s infinite alternate }</style><div></div>',
  '<style>div { opacity: 0; transition: opacity 3s } .on { opacity: 1 }</style><div id="d">fades</div><script>setTimeout(() => d.className = "on", 50)</script>',
  '<canvas id="c" width="300" height="200"></canvas><script>const g = c.getContext("2d"); let n = 0; (function f() { g.fillStyle = "hsl(" + n + " 90% 50%)"; g.fillRect(Math.random() * 300, n++ % 200, 9, 9); requestAnimationFrame(f) })()</script>',
  '<p id="p">0<script>let n = 0; setInterval(() => fetch("/" + n++ + "?" + Date.now()).then((r) => r.text()).then((t) => p.textContent += t + n), 400)</script>',
  '<p id="p"><script>p.textContent = new Intl.DateTimeFormat("en", { dateStyle: "full", timeStyle: "long" }).format() + new Date() + navigator.language</script>',
  '<p id="p"><script>const until = Date.now() + 500; while (Date.now() < until); p.textContent = "waited"</script>',
];

test.each(RESTLESS)('is the same when it is drawn again, however long its answers take: %s', async (html) => {
  const drawn = [];
  for (const delay of [0, 150]) {
    const gate = gateTo(html);
    const plain = gate.answer.bind(gate);
    gate.answer = async (request, ...rest) => {
      await new Promise((resolve) => setTimeout(resolve, request.isMainDocument ? 0 : delay));
      return plain(request, ...rest);
    };
    const { picture, text } = await browser.draw(gate, { timeoutMs: 60_000 });
    drawn.push({ picture: hash('sha256', picture, 'hex'), text, asked: gate.asked.map(({ url }) => url) });
  }
  expect(drawn[1]).toEqual(drawn[0]);
});

describe('a refresh follows the clock of the page, however long its answers take', () => {
  const refresh = (content: string) => `<meta http-equiv="refresh" content="${content}">`;
  const TICKS = `<script>let n = 0; setInterval(() => fetch('/tick' + n++), 300)</script>`;

  test.each<[what: string, html: string, text: string, headers?: [string, string][]]>([
    ['at once', `${refresh('0; url=/target')}<p>first`, 'target'],
    ['after a second', `${refresh('1; url=/target')}<p>first${TICKS}`, 'target'],
    ['after four seconds', `${refresh('4; url=/target')}<p>first`, 'target'],
    ['by a header', `<p>first${TICKS}`, 'target', [['refresh', '1; url=/target']]],
    ['the earlier of two', `${refresh('2; url=/other')}${refresh('1; url=/target')}<p>first`, 'target'],
    [
      'one that a script adds',
      `<p>first<script>setTimeout(() => { const meta = document.createElement('meta'); meta.httpEquiv = 'refresh';
        meta.content = '1; url=/target'; document.head.append(meta) }, 500)</script>`,
      'target',
    ],
    ['in a frame', `<iframe srcdoc='${refresh('1; url=/target')}<p>first'></iframe>`, 'target'],
    [
      'again and again to the same document',
      `${refresh('2')}<p id="p"><script>const n = Number(localStorage.n ?? 0) + 1; localStorage.n = n; p.textContent = 'load ' + n</script>`,
      'load 3',
    ],
    ['not after six seconds', `${refresh('6; url=/target')}<p>first`, 'first'],
    ['not to what is no page', `${refresh('1; url=mailto:a@site.example')}<p>first`, 'first'],
  ])('%s', async (_what, html, text, headers = []) => {
    const drawn = [];
    for (const delay of [0, 2_500]) {
      const gate = new ScriptedGate(async ({ url }) => {
        if (url === SITE) {
          const page = answer(`<!doctype html>${html}<script>fetch('/slow')</script>`);
          return { ...page, headers: [...page.headers, ...headers] };
        }
        if (url.endsWith('/slow')) await new Promise((resolve) => setTimeout(resolve, delay));
        return answer(
          `<p>${new URL(url).pathname.slice(1)}<script>setTimeout(() => fetch('/late'), 1500)</script>`,
        );
      });
      const page = await browser.draw(gate, { timeoutMs: 60_000 });
      expect(page.outcome).toBe('complete');
      drawn.push({ text: page.text, asked: gate.asked.map(({ url }) => url) });
    }
    expect(drawn[0]?.text).toBe(`${text}\n`);
    expect(drawn[1]).toEqual(drawn[0]);
  });
});

/** What moves where no style sheet or script of the page reaches, or in a tree of its own. */
const MOVING: [what: string, html: string][] = [
  ...(['open', 'closed'] as const).map((mode): [string, string] => [
    `animations and a video in a shadow tree that is ${mode}`,
    `<div id="d"></div><script>d.attachShadow({ mode: '${mode}' }).innerHTML = \`<style>@keyframes s { to { transform: rotate(360deg) } }
      @keyframes f { from { opacity: 0 } } div { width: 99px; height: 40px; background: red; margin: 30px }
      .i { animation: s 2s linear infinite } .f { animation: f 60s both }</style><div class="i"></div><div class="f"></div>
      <video src="/video" autoplay muted loop></video>\`</script>`,
  ]),
  ['progress without a value', '<progress></progress>'],
  [
    'progress without a value, in styles of the page',
    `<style>@keyframes k { to { background: blue } } progress, progress::-webkit-progress-bar { appearance: none; background: gold }
      progress::-webkit-progress-bar { animation: k 1s linear infinite alternate }</style><progress></progress>`,
  ],
  [
    'a marquee',
    '<marquee>Breaking news</marquee><marquee behavior="alternate" direction="down">More</marquee>',
  ],
  ['the controls of a video', '<video src="/video" controls></video>'],
  ['the controls of a video that plays', '<video src="/video" controls autoplay muted loop></video>'],
];

test.each(MOVING)('the picture stands still: %s', async (_what, html) => {
  const pictures = new Set<string>();
  for (const delay of [0, 130, 410]) {
    const gate = new ScriptedGate(async ({ isMainDocument, url }) => {
      if (isMainDocument) return answer(`<!doctype html>${html}<script>fetch('/slow')</script>`);
      if (url.endsWith('/slow')) await new Promise((resolve) => setTimeout(resolve, delay));
      return answer(VIDEO, 'video/webm');
    });
    const { picture } = await browser.draw(gate);
    pictures.add(hash('sha256', picture, 'hex'));
  }
  expect(pictures.size).toBe(1);
});
