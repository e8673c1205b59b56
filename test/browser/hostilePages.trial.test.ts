import { readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DrawnByBrowser } from '../../server/browser/closedBrowser.ts';
import { gateTo, openBrowser, type ScriptedGate, SITE } from './support.ts';

let browser: Awaited<ReturnType<typeof openBrowser>>;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
});

interface Hostile {
  name: string;
  html: string;
  /** What the page shows all the same. */
  expected: Partial<Record<'text' | 'outcome' | 'reason' | 'url', unknown>>;
  asked?: number;
  refused?: string[];
}

/** A page that never ends has this time. A slow machine needs most of it to begin. */
const LOOP = 4_000;

const PAGES: Hostile[] = [
  {
    name: 'pop-ups',
    html: '<p>text<script>for (let i = 0; i < 50; i++) open("https://other.example/" + i)</script>',
    expected: { text: 'text\n', outcome: 'complete' },
    asked: 1,
  },
  {
    name: 'a link that opens another tab',
    html: '<p>text<a href="https://other.example/" target="_blank" id="a"></a><script>a.click()</script>',
    expected: { text: 'text\n' },
    asked: 1,
  },
  {
    name: 'a form that submits itself',
    html: '<p>text<form id="f" method="post" action="/"></form><script>f.submit()</script>',
    expected: { text: 'text\n', outcome: 'cut', reason: 'requests', url: SITE },
    asked: 10,
    refused: ['navigation'],
  },
  {
    name: 'a redirect without end',
    html: '<p>text<script>location = "/?" + Math.random()</script>',
    expected: { text: 'text\n', outcome: 'cut' },
    asked: 10,
    refused: ['navigation'],
  },
  {
    name: 'a reload without end',
    html: '<p>text<script>location.reload()</script>',
    expected: { text: 'text\n', outcome: 'cut' },
    asked: 10,
    refused: ['navigation'],
  },
  {
    name: 'a service worker',
    html: '<p id="p">-<script>navigator.serviceWorker.register("/sw.js").then(() => p.textContent = "registered", () => p.textContent = "refused")</script>',
    expected: { text: 'refused\n' },
    asked: 1,
  },
  {
    name: 'WebRTC',
    html: '<p id="p">-<script>p.textContent = typeof RTCPeerConnection + typeof WebTransport</script>',
    expected: { text: 'undefinedundefined\n' },
    asked: 1,
  },
  {
    name: 'addresses of this machine',
    html: '<p id="p">-<iframe src="file:///etc/passwd"></iframe><script>fetch("file:///etc/passwd").catch(() => p.textContent = "refused")</script>',
    expected: { text: 'refused\n' },
    asked: 1,
  },
  {
    name: 'scripts in frames',
    html: '<p>text<iframe src="javascript:alert(1)"></iframe><script>print()</script>',
    expected: { text: 'text\n' },
    asked: 1,
  },
  {
    name: 'a question before it is left',
    html: '<p>text<script>onbeforeunload = () => "stay"; setTimeout(() => location = "/2", 100)</script>',
    expected: { outcome: 'cut' },
  },
  {
    name: 'a script that throws',
    html: '<p>before<script>throw new Error("x")</script><p>after',
    expected: { text: 'before\nafter\n', outcome: 'complete' },
  },
  {
    name: 'timers without end',
    html: '<p>text<script>(function next() { setTimeout(next) })(); (function frame() { requestAnimationFrame(frame) })()</script>',
    expected: { text: 'text\n', outcome: 'complete' },
  },
  {
    name: 'too many requests',
    html: '<p>text<script>for (let i = 0; i < 1000; i++) fetch("/" + i).catch(() => {})</script>',
    expected: { text: 'text\n', outcome: 'cut', reason: 'requests' },
    asked: 100,
    refused: ['limit'],
  },
  {
    name: 'more than 20,000 pixels',
    html: '<div style="height: 30000px"></div>end',
    expected: { text: 'end\n', outcome: 'cut', reason: 'height' },
  },
  {
    name: 'a download',
    html: '<p>text<a id="d" href="/file" download></a><script>d.click()</script>',
    expected: { text: 'text\n' },
  },
];

test.each(PAGES)('$name', async ({ html, expected, asked, refused }) => {
  const gate = gateTo(html);
  const page = await browser.draw(gate);
  expect(page).toMatchObject(expected);
  expect(page.picture.subarray(1, 4).toString()).toBe('PNG');
  if (asked !== undefined) expect(gate.asked).toHaveLength(asked);
  if (refused) expect([...new Set(gate.refused.map(({ reason }) => reason))]).toEqual(refused);
});

/** What never ends is cut off when the time is over; what is there is kept, and the next page is drawn. */
test.each([
  ['dialogs', 'for (;;) alert(1)'],
  ['a loop', 'setTimeout(() => { for (;;); }, 10)'],
  ['a loop while the page is read', 'for (;;);'],
  [
    'workers that loop',
    'for (let i = 0; i < 2; i++) new Worker(URL.createObjectURL(new Blob(["for(;;);"])))',
  ],
])('%s without end', async (_name, script) => {
  const page = await browser.draw(gateTo(`<p>before<script>${script}</script>`), { timeoutMs: LOOP });
  expect(page.text).toBe('before\n');
  expect((await browser.draw(gateTo('<p>next'))).text).toBe('next\n');
});

test('a response that never comes does not hold the page up for longer than its time', async () => {
  const gate = gateTo('<p id="p">waiting<script>fetch("/never")</script>');
  const never = gate.answer.bind(gate);
  gate.answer = (request, ...rest) =>
    request.url.endsWith('/never') ? new Promise(() => {}) : never(request, ...rest);
  expect(await browser.draw(gate, { timeoutMs: LOOP })).toMatchObject({
    text: 'waiting\n',
    outcome: 'cut',
    reason: 'time',
  });
});

test('a WebSocket to this machine connects to nothing, and is listed', async () => {
  let connections = 0;
  const server = createServer(() => {}).on('connection', () => (connections += 1));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const gate: ScriptedGate = gateTo(
    `<p id="p">-<script>const w = new WebSocket("${url}"); w.onopen = () => p.textContent = "open"; w.onerror = () => p.textContent = "error"</script>`,
  );
  const page: DrawnByBrowser = await browser.draw(gate);
  server.close();
  expect(page.text).toBe('error\n');
  expect(gate.refused).toEqual([{ url, reason: 'scheme' }]);
  expect(connections).toBe(0);
});

test('no profile is left', async () => {
  await browser.close();
  expect(await readdir(browser.profiles).catch(() => [])).toEqual([]);
});
