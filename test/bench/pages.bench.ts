import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { chromium } from 'playwright';
import { PNG } from 'pngjs';
import { inParallel } from '../../server/runtime/concurrency.ts';
import { chromiumLaunchOptions } from '../support/chromium.ts';
import { type Bench, type Measurement, percentile, scaled, timed } from './bench.ts';
import { type OwnerNode, startNode } from './support/ownerNode.ts';
import { readDuring } from './support/steadyReaders.ts';

const PAGES = scaled(100, 2);
const AT_ONCE = 2;
const READ_EVERY_MS = 20;
const MAX_MINUTES = 10;
const MAX_RATIO = 1.5;
const MAX_READ_MS = 50;
/** The first pages load the code that captures; the memory is compared from then on. */
const FIRST_PAGES = scaled(10);
/** How much more memory a node may have after the pages were captured, and how long it may take to give it back. */
const MAX_GROWTH = 100_000_000;
const GIVES_BACK_WITHIN_MS = scaled(60_000, 100);

/** Captures 100 ordinary pages in a round, and has the same Chromium load them and take their pictures by itself. */
export const pages: Bench = {
  name: 'pages',
  async run(folder): Promise<Measurement[]> {
    const web = await startSite();
    const node = await startNode(join(folder, 'data'));
    try {
      return await measure(node, web.urls);
    } finally {
      await node.stop();
      web.server.close();
    }
  },
};

async function measure(node: OwnerNode, all: readonly string[]): Promise<Measurement[]> {
  const headers = { ...node.headers, 'Content-Type': 'application/json' };
  const send = async (method: string, path: string, body: object): Promise<Response> => {
    const response = await fetch(node.url + path, { method, headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return response;
  };
  await send('PATCH', '/manage/settings', { per_host_pause_ms: 0, page_concurrency: AT_ONCE });
  const watch = async (url: string): Promise<string> => {
    const added = await send('POST', '/manage/sources', { url, capture: 'page', ignore_robots: true });
    return ((await added.json()) as { id: string }).id;
  };
  const collect = (sources: string[]) => send('POST', '/manage/collections?wait=true', { sources });
  const sources: string[] = [];
  for (const url of all) sources.push(await watch(url));
  await collect(sources.splice(PAGES));
  const before = await node.resident();
  let ours = 0;
  const [health = [], events = []] = await readDuring(
    [`${node.url}/api/health`, `${node.url}/api/events`],
    READ_EVERY_MS,
    async () => {
      ours = await timed(() => collect(sources));
    },
  );
  const { items } = (await (await fetch(`${node.url}/archive/pages?limit=500`)).json()) as {
    items: { outcome: string }[];
  };
  const complete = items.filter(({ outcome }) => outcome === 'complete').length - FIRST_PAGES;
  const after = await leastResident(node);
  const peer = await timed(() => loadByItself(all.slice(0, PAGES)));
  const slowest = Math.max(percentile(health, 0.99), percentile(events, 0.99));
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  const megabytes = (bytes: number) => `${Math.round(bytes / 1_000_000)} MB`;
  return [
    {
      what: `${PAGES} pages with 20 parts each, ${AT_ONCE} at once`,
      ours: `${seconds(ours)}, ${complete} complete`,
      peer: `Chromium by itself, load and picture: ${seconds(peer)}`,
      ratio: ours / peer,
      target: `ratio at most ${MAX_RATIO}, at most ${MAX_MINUTES} minutes, all complete`,
      holds: ours / peer <= MAX_RATIO && ours < MAX_MINUTES * 60_000 && complete === PAGES,
    },
    {
      what: 'reads meanwhile, p99',
      ours: `${slowest.toFixed(1)} ms`,
      target: `at most ${MAX_READ_MS} ms`,
      holds: slowest <= MAX_READ_MS,
    },
    {
      what: 'memory of the node, before and after',
      ours: `${megabytes(before)}, ${megabytes(after)} (peak ${megabytes(await node.peakResident())})`,
      target: `at most ${megabytes(MAX_GROWTH)} more`,
      holds: after - before <= MAX_GROWTH,
    },
  ];
}

/** Returns the least memory that the node has within the time in which it may give some back. */
async function leastResident(node: OwnerNode): Promise<number> {
  let least = await node.resident();
  for (const end = Date.now() + GIVES_BACK_WITHIN_MS; Date.now() < end; await setTimeout(1_000))
    least = Math.min(least, await node.resident());
  return least;
}

async function loadByItself(urls: readonly string[]): Promise<void> {
  const browser = await chromium.launch(chromiumLaunchOptions());
  try {
    await inParallel(urls, AT_ONCE, async (url) => {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
      const page = await context.newPage();
      await page.goto(url, { waitUntil: 'networkidle' });
      await page.screenshot({ fullPage: true });
      await context.close();
    });
  } finally {
    await browser.close();
  }
}

/** A site whose pages have styles, scripts, images and data of their own. */
async function startSite(): Promise<{ urls: string[]; server: Server }> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const [type, body] = answerTo(pathname);
    response.setHeader('Content-Type', type).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const urls = Array.from(
    { length: PAGES + FIRST_PAGES },
    (_, number) => `http://127.0.0.1:${port}/page/${number}`,
  );
  return { urls, server };
}

function answerTo(path: string): [type: string, body: string | Buffer] {
  if (path.startsWith('/page/')) return ['text/html; charset=utf-8', pageHtml(path)];
  if (path.endsWith('.css')) return ['text/css', 'p { color: #234; line-height: 1.5 } '.repeat(200)];
  if (path.endsWith('.js'))
    return [
      'text/javascript',
      `fetch('/data/${path.length}.json').then((r) => r.json()).then((d) => { const p = document.createElement('p'); p.textContent = d.join(', '); document.body.append(p) });`,
    ];
  if (path.endsWith('.png')) return ['image/png', PICTURE];
  return ['application/json', JSON.stringify(Array.from({ length: 50 }, (_, index) => `value ${index}`))];
}

function pageHtml(path: string): string {
  const name = path.replaceAll('/', '-');
  const parts = (count: number, part: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => part(index)).join('');
  return `<!doctype html><title>${name}</title>
    ${parts(3, (index) => `<link rel="stylesheet" href="/${name}${index}.css">`)}
    <h1>${name}</h1>${parts(40, (index) => `<p>${`Paragraph ${index} of ${name}. `.repeat(8)}</p>`)}
    ${parts(9, (index) => `<img src="/${name}${index}.png" width="200" height="120">`)}
    ${parts(4, (index) => `<script src="/${name}${index}.js" defer></script>`)}`;
}

const PICTURE = (() => {
  const image = new PNG({ width: 200, height: 120 });
  for (let at = 0; at < image.data.length; at += 1) image.data[at] = (at * 31) % 251;
  return PNG.sync.write(image);
})();
