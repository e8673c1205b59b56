import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunningBrowser } from '../../server/browser/chromium.ts';
import { ClosedBrowser, chromiumIn } from '../../server/browser/closedBrowser.ts';
import { createLog } from '../../server/runtime/log.ts';
import { answer, gateTo, ScriptedGate, SITE } from './support.ts';

let profiles: string;
let browser: ClosedBrowser;
/** The state of each browser that was started. */
let started: { isEnded: boolean }[];

beforeEach(async () => {
  profiles = await mkdtemp(join(tmpdir(), 'strongroom-browser-'));
  started = [];
  const start = chromiumIn(profiles);
  const countedStart = async (): Promise<RunningBrowser | null> => {
    const running = await start();
    if (!running) return null;
    const state = { isEnded: false };
    started.push(state);
    const close = async () => {
      await running.close();
      state.isEnded = true;
    };
    return { ...running, close };
  };
  browser = new ClosedBrowser(countedStart, createLog('silent'), 2);
});
afterEach(async () => {
  await browser.close();
  await rm(profiles, { recursive: true, force: true });
});

function draw(gate: ScriptedGate, signal = new AbortController().signal) {
  return browser.draw({
    url: SITE,
    gate,
    viewport: { width: 800, height: 600, scale: 1 },
    startsAt: Date.parse('2026-01-02T03:04:05Z'),
    seed: '0123456789abcdef',
    timeoutMs: 60_000,
    maxRequests: 100,
    maxBytes: 10_000_000,
    signal,
  });
}

/** A page whose image is answered once `release` is called. */
function heldPage() {
  const asked = Promise.withResolvers<void>();
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const gate = new ScriptedGate(async ({ isMainDocument }) => {
    if (isMainDocument) return answer('<p>held</p><img src="/image.png">');
    asked.resolve();
    await promise;
    return null;
  });
  return { gate, asked: asked.promise, release };
}

test('a browser is replaced after its pages although two draws always overlap', async () => {
  const pages = [heldPage(), heldPage(), heldPage()];
  const draws = [];
  let before: (typeof pages)[number] | undefined;
  for (const page of pages) {
    draws.push(draw(page.gate));
    await page.asked;
    before?.release();
    if (before) await draws.at(-2);
    before = page;
  }
  // The first two pages were drawn by the first browser. The third is drawn by another.
  expect(started).toEqual([{ isEnded: true }, { isEnded: false }]);
  before?.release();
  expect((await Promise.all(draws)).map(({ text }) => text)).toEqual(['held\n', 'held\n', 'held\n']);
});

test('a browser in which a page failed draws no more pages, and ends after those that it draws', async () => {
  const held = heldPage();
  const drawing = draw(held.gate);
  await held.asked;
  const failed = new AbortController();
  const failing = heldPage();
  const refused = expect(draw(failing.gate, failed.signal)).rejects.toThrow();
  await failing.asked;
  failed.abort();
  await refused;
  failing.release();
  await draw(gateTo('<p>after</p>'));
  expect(started).toEqual([{ isEnded: false }, { isEnded: false }]);
  held.release();
  expect((await drawing).text).toBe('held\n');
  expect(started).toEqual([{ isEnded: true }, { isEnded: false }]);
});
