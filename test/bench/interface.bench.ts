import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type BrowserContext, chromium, type Page } from 'playwright';
import { defaultRendererFolder } from '../../server/config.ts';
import { buildIfStale } from '../../server/launch/build.ts';
import { openStore } from '../../server/store/store.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { chromiumLaunchOptions } from '../support/chromium.ts';
import { type Bench, type Measurement, median, percentile, scaled, timed } from './bench.ts';
import { fillPacks } from './packs.bench.ts';
import { fillTimeline } from './support/filledTimeline.ts';
import { startNode } from './support/ownerNode.ts';
import { leaveNoWork, repeatTimeline } from './support/repeatedTimeline.ts';

const PACKS = scaled(5_000, 20);
const SOURCES = scaled(2_000, 10);
/** This many events are recorded and repeated to 100,000, and for the frames to a million. */
const RECORDED_EVENTS = scaled(20_000, 50);
const TIMES = scaled(5);
const TIMES_MORE = scaled(10);
const LOADS = scaled(5);
const MAX_FRAME_MS = 100;
const MAX_PAINT_MS = 300;
const MAX_CHANGE_MS = 700;
const MAX_SCRIPT_BYTES = 250_000;

/** Turns of the wheel, each this far, and then leaps to these shares of the list. */
const TURNS = scaled(150, 5);
const TURN_PX = 600;
const LEAPS = [0.5, 0.1, 0.9, 0.3, 0.999, 0.7, 0, 1];

/** Pages, and what is visible on each once its data has arrived. */
const PAGES: [link: string, content: string][] = [
  ['Packs', 'main table tbody tr'],
  ['Timeline', '[role="feed"] [data-row-link]'],
  ['Sources', 'main a[href^="/sources/so_"]'],
  ['Ledger', 'main h1'],
  ['Overview', 'main a[href^="/timeline/"]'],
];

/** Opens the built interface in Chromium, as the owner of an archive of 5,000 packs and first 100,000, then a million events. */
export const interfaceBench: Bench = {
  name: 'interface',
  async run(folder): Promise<Measurement[]> {
    await buildIfStale('app', (line) => console.error(line));
    const data = join(folder, 'data');
    await fillTimeline(data, { events: RECORDED_EVENTS, sources: SOURCES });
    repeatTimeline(data, TIMES);
    const store = await openStore({ folder: data, clock: systemClock });
    await fillPacks(store, PACKS);
    await store.close();
    leaveNoWork(data);
    const measured = [await firstScript()];
    await withInterface(data, async (open) => {
      measured.push(await firstPaint(open), ...(await pageChanges(await open())));
    });
    repeatTimeline(data, TIMES_MORE);
    await withInterface(data, async (open) => {
      measured.push(...(await frames(await open())));
    });
    return measured;
  },
};

type OpenContext = () => Promise<BrowserContext>;

/** Serves a data folder while the work opens its interface in a browser, as the owner. */
async function withInterface(data: string, work: (open: OpenContext) => Promise<void>): Promise<void> {
  const node = await startNode(data);
  const browser = await chromium.launch(chromiumLaunchOptions());
  try {
    await work(() => browser.newContext({ baseURL: node.url, extraHTTPHeaders: node.headers }));
  } finally {
    await browser.close();
    await node.stop();
  }
}

/** The size of the scripts that the document loads at once. */
async function firstScript(): Promise<Measurement> {
  const folder = defaultRendererFolder();
  const html = await readFile(join(folder, 'index.html'), 'utf8');
  const files = [...html.matchAll(/(?:src|href)="(\/[^"]+\.js)"/g)].map(([, file]) => file ?? '');
  let bytes = 0;
  for (const file of files) bytes += gzipSync(await readFile(join(folder, file))).length;
  return {
    what: 'first script, compressed with gzip',
    ours: `${(bytes / 1000).toFixed(0)} kB`,
    target: `at most ${MAX_SCRIPT_BYTES / 1000} kB`,
    holds: bytes > 0 && bytes <= MAX_SCRIPT_BYTES,
  };
}

async function firstPaint(open: OpenContext): Promise<Measurement> {
  const times: number[] = [];
  for (let load = 0; load < LOADS; load += 1) {
    const context = await open();
    const page = await context.newPage();
    await page.goto('/timeline');
    await page.locator('[role="feed"] [data-row-link]').first().waitFor();
    times.push(
      await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0),
    );
    await context.close();
  }
  return {
    what: 'first paint of the timeline, without a cache',
    ours: `median ${median(times).toFixed(0)} ms`,
    target: `at most ${MAX_PAINT_MS} ms`,
    holds: median(times) > 0 && median(times) <= MAX_PAINT_MS,
  };
}

async function pageChanges(context: BrowserContext): Promise<Measurement[]> {
  const page = await context.newPage();
  await page.goto('/');
  const navigation = page.getByRole('navigation', { name: 'Main' });
  const found: Measurement[] = [];
  for (const [link, content] of PAGES) {
    const target = navigation.getByRole('link', { name: new RegExp(`^${link}`) });
    const ms = await timed(async () => {
      await target.click();
      await page.getByRole('heading', { level: 1, name: link }).waitFor();
      await page.locator(content).first().waitFor();
    });
    found.push({
      what: `to the page ${link}, for the first time`,
      ours: `${ms.toFixed(0)} ms`,
      target: `at most ${MAX_CHANGE_MS} ms`,
      holds: ms <= MAX_CHANGE_MS,
    });
  }
  await context.close();
  return found;
}

/** The time between frames while the timeline is scrolled with the wheel, and while it leaps. */
async function frames(context: BrowserContext): Promise<Measurement[]> {
  const page = await context.newPage();
  await page.goto('/timeline');
  const feed = page.locator('[role="feed"]');
  await feed.locator('[data-row-link]').first().waitFor();
  await feed.hover();
  const wheel = await framesDuring(page, async () => {
    for (let turn = 0; turn < TURNS; turn += 1) {
      await page.mouse.wheel(0, TURN_PX);
      await page.waitForTimeout(30);
    }
  });
  const leaps = await framesDuring(page, async () => {
    for (const share of LEAPS) {
      await feed.evaluate((element, to) => {
        element.scrollTop = to * (element.scrollHeight - element.clientHeight);
      }, share);
      await page.waitForTimeout(500);
    }
  });
  await context.close();
  return [asMeasurement('scrolled with the wheel', wheel), asMeasurement('leaping', leaps)];
}

/** Returns the time between every two frames of a page during some work, in milliseconds. */
async function framesDuring(page: Page, work: () => Promise<void>): Promise<number[]> {
  await page.evaluate(() => {
    const times: number[] = [];
    const state = { isOver: false, times };
    Object.assign(window, { frames: state });
    const next = (at: number) => {
      times.push(at);
      if (!state.isOver) requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  });
  await work();
  const times = await page.evaluate(() => {
    const { frames: state } = window as unknown as { frames: { isOver: boolean; times: number[] } };
    state.isOver = true;
    return state.times;
  });
  return times.slice(1).map((at, index) => at - (times[index] ?? at));
}

function asMeasurement(how: string, waits: readonly number[]): Measurement {
  const slowest = Math.max(...waits);
  return {
    what: `frames of the timeline, ${how}`,
    ours: `slowest ${slowest.toFixed(0)} ms, p99 ${percentile(waits, 0.99).toFixed(0)} ms, ${waits.length} frames`,
    target: `none over ${MAX_FRAME_MS} ms`,
    holds: waits.length > 0 && slowest <= MAX_FRAME_MS,
  };
}
