import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { afterEach, expect, test } from 'vitest';
import { inParallel } from '../../../server/runtime/concurrency.ts';
import type { ArchivedDraw, PageList } from '../../../shared/collection/page.ts';
import { ManualClock } from '../../support/manualClock.ts';
import { page as answer, closeScriptedWebs, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { seededRandom } from '../../support/seededRandom.ts';
import { openCollectingNode } from '../support.ts';

/*
 * Generated pages with clocks, random numbers, animations, fonts and canvases, each captured and drawn again from the
 * archive a day later. 300 take about ten minutes: `STRONGROOM_PAGES=300 npm run trials -- samePages`.
 */

const PAGES = Number(process.env['STRONGROOM_PAGES'] ?? 12);
const DAY_MS = 86_400_000;
/** The share of the pages whose picture and text must be identical. */
const SAME = 0.99;

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

test('pages that never stand still are the same when they are drawn again a day later', async () => {
  const web = await ScriptedWeb.open();
  web.script('/font.ttf', answer(await fontFile(), { headers: { 'Content-Type': 'font/ttf' } }));
  web.script('/word.txt', answer('fetched', { headers: { 'Content-Type': 'text/plain' } }));
  const clock = new ManualClock();
  const node = await openCollectingNode({ page_timeout_seconds: 120 }, { clock });
  const kinds = new Map<string, string>();
  for (let number = 0; number < PAGES; number += 1) {
    const { html, kind } = generated(number);
    const path = `/page/${number}`;
    web.script(path, answer(html, { headers: { 'Content-Type': 'text/html; charset=utf-8' } }));
    kinds.set((await node.watch(web.url(path), { capture: 'page' })).id, `${number} (${kind})`);
  }
  expect((await node.check()).failed).toBe(0);
  const { items } = await node.read<PageList>('/archive/pages?limit=500');
  expect(items).toHaveLength(PAGES);
  expect(items.filter(({ outcome }) => outcome !== 'complete')).toEqual([]);

  await clock.turn(DAY_MS);
  const changed: string[] = [];
  await inParallel(items, 2, async ({ id, source }) => {
    const response = await node.node.sendJson('POST', `/archive/pages/${id}/draw`, {});
    expect(response.status).toBe(200);
    const draw = (await response.json()) as ArchivedDraw;
    if (!draw.same_picture || !draw.same_text)
      changed.push(`${kinds.get(source)}: picture ${draw.same_picture}, text ${draw.same_text}`);
  });
  expect(changed.length, changed.join('\n')).toBeLessThanOrEqual(PAGES * (1 - SAME));
}, 1_800_000);

/** The pieces of which pages are made. Each changes with time, with chance, or with the order in which things arrive. */
const PIECES: Record<string, (random: () => number) => string> = {
  clock: () =>
    '<p class="clock"></p><script>setInterval(() => { for (const p of document.querySelectorAll(".clock")) p.textContent = new Date().toISOString() + " " + Math.round(performance.now()) }, 100)</script>',
  random: () =>
    '<p class="random"></p><script>for (const p of document.querySelectorAll(".random")) p.textContent = [Math.random(), crypto.randomUUID(), crypto.getRandomValues(new Uint32Array(2))].join(" ")</script>',
  animation: (random) =>
    `<style>@keyframes k { to { transform: translate(${Math.round(random() * 400)}px) rotate(1turn) } } .box { width: 60px; height: 60px; background: hsl(${Math.round(random() * 360)} 80% 50%); animation: k ${(0.3 + random() * 3).toFixed(2)}s infinite alternate }</style><div class="box"></div>`,
  transition: () =>
    '<style>.fade { opacity: 0; transition: opacity 2s } .on { opacity: 1 }</style><p class="fade">fades in</p><script>setTimeout(() => document.querySelector(".fade").classList.add("on"), 80)</script>',
  canvas: () =>
    '<canvas width="300" height="120"></canvas><script>{ const g = document.currentScript.previousElementSibling.getContext("2d"); let n = 0; (function draw() { g.fillStyle = "hsl(" + n + " 90% 50%)"; g.fillRect(Math.random() * 300, n++ % 120, 9, 9); requestAnimationFrame(draw) })() }</script>',
  font: () =>
    '<style>@font-face { font-family: own; src: url(/font.ttf) } .own { font: 28px own, monospace }</style><p class="own">Set in a font of its own</p>',
  fetched: () =>
    '<p class="fetched"></p><script>{ const p = document.currentScript.previousElementSibling; let n = 0; const next = () => fetch("/word.txt?" + n++ + "&" + Date.now()).then((r) => r.text()).then((t) => { p.textContent += t + n + " "; if (n < 4) setTimeout(next, 120) }); next() }</script>',
  observer: () =>
    '<p class="seen">not seen</p><script>{ const p = document.currentScript.previousElementSibling; new IntersectionObserver(([e]) => { if (e.isIntersecting) p.textContent = "seen at " + Date.now() }).observe(p) }</script>',
  svg: (random) =>
    `<svg width="200" height="60"><circle r="20" cy="30" fill="navy"><animate attributeName="cx" from="20" to="180" dur="${(0.5 + random() * 2).toFixed(2)}s" repeatCount="indefinite"/></circle></svg>`,
  shuffled: () =>
    '<ul class="shuffled"></ul><script>{ const list = document.currentScript.previousElementSibling; for (const word of ["one", "two", "three", "four"].sort(() => Math.random() - 0.5)) { const item = document.createElement("li"); item.textContent = word; list.append(item) } }</script>',
};

/** Returns a page of two to six pieces, the same for the same number. */
function generated(number: number): { html: string; kind: string } {
  const random = seededRandom(number + 1);
  const names = Object.keys(PIECES);
  const chosen = Array.from(
    { length: 2 + Math.floor(random() * 5) },
    () => names[Math.floor(random() * names.length)] ?? '',
  );
  const words = Array.from({ length: 60 }, () =>
    createHash('sha1').update(`${random()}`).digest('hex').slice(0, 6),
  );
  const kinds = [...new Set(chosen)];
  return {
    kind: kinds.join(', '),
    html: `<!doctype html><title>Page ${number}</title><h1>Page ${number}</h1>${kinds.map((name) => PIECES[name]?.(random) ?? '').join('\n')}<p>${words.join(' ')}</p>`,
  };
}

function fontFile(): Promise<Buffer> {
  return readFile(
    createRequire(import.meta.url).resolve('pdfjs-dist/standard_fonts/LiberationSans-Regular.ttf'),
  );
}
