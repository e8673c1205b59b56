import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { WatchedSource } from '../../../shared/collection/source.ts';
import { ManualClock } from '../../support/manualClock.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

const MINUTE = 60_000;
const HOSTS = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];
let webs: ScriptedWeb[];
let clock: ManualClock;

beforeEach(async () => {
  clock = new ManualClock();
  webs = await Promise.all(HOSTS.map((host) => ScriptedWeb.open({ host })));
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

/** Scripts this many pages, distributed over the hosts, and returns their URLs. */
function pages(count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const web = webs[index % webs.length] as ScriptedWeb;
    web.script(`/${index}`, page('text'));
    return web.url(`/${index}`);
  });
}

async function watchList(node: CollectingNode, urls: readonly string[]): Promise<void> {
  const response = await node.node.fetchAsOwner('/manage/sources/import', {
    method: 'POST',
    body: urls.join('\n'),
    headers: { 'Content-Type': 'text/plain' },
  });
  expect(response.status).toBe(200);
}

/** Returns the time until each source is due, in milliseconds. */
async function due(node: CollectingNode): Promise<number[]> {
  const { items } = await node.read<{ items: WatchedSource[] }>('/manage/sources?limit=500');
  return items.map(({ next_check_at }) => Date.parse(next_check_at ?? '') - clock.now());
}

/** Waits until this many sources have been checked, which shows in their due times. */
async function untilChecked(node: CollectingNode, count: number): Promise<void> {
  await expect.poll(async () => (await due(node)).filter((ms) => ms > 50 * MINUTE).length).toBe(count);
}

describe('many sources', () => {
  test('added one by one have different first due times', async () => {
    const node = await openCollectingNode({}, { clock });
    for (const url of pages(100)) await node.watch(url);
    const times = await due(node);
    expect(Math.min(...times)).toBe(MINUTE);
    expect(Math.max(...times)).toBeLessThanOrEqual(MINUTE + 50_000);
    expect(new Set(times.map((ms) => Math.floor(ms / 5_000))).size).toBeGreaterThan(4);
  });

  test('checked in one round are due again with ±5 % jitter', async () => {
    const node = await openCollectingNode({}, { clock });
    await watchList(node, pages(60));
    expect((await node.check()).checked).toBe(60);
    const times = await due(node);
    expect(Math.min(...times)).toBeGreaterThanOrEqual(57 * MINUTE);
    expect(Math.max(...times)).toBeLessThanOrEqual(63 * MINUTE);
    expect(new Set(times.map((ms) => Math.floor(ms / MINUTE))).size).toBeGreaterThan(3);
  });

  test('rescheduled by a new interval or a corrected clock have different due times', async () => {
    const node = await openCollectingNode({}, { clock, collect: true });
    await watchList(node, pages(60));
    await node.check();
    await node.set({ collection_every_minutes: 600 });
    await clock.turn(30_000);
    await expect.poll(async () => Math.min(...(await due(node)))).toBeGreaterThan(500 * MINUTE);
    expect(new Set((await due(node)).map((ms) => Math.floor(ms / MINUTE))).size).toBeGreaterThan(20);
    await clock.jump(-24 * 60 * MINUTE);
    await clock.wakeAll();
    await expect.poll(async () => Math.max(...(await due(node)))).toBeLessThanOrEqual(600 * MINUTE);
    expect(new Set((await due(node)).map((ms) => Math.floor(ms / MINUTE))).size).toBeGreaterThan(20);
  });

  test('are checked in several scheduled rounds', async () => {
    const node = await openCollectingNode({}, { clock, collect: true });
    await watchList(node, pages(150));
    await clock.turn(MINUTE);
    await untilChecked(node, 100);
    await clock.turn(50_000);
    await untilChecked(node, 150);
  });
});

describe('a few sources', () => {
  test('are checked in one round again after jitter spread their due times', async () => {
    const node = await openCollectingNode({}, { clock, collect: true });
    const urls = pages(9);
    await watchList(node, urls);
    await node.check();
    const times = await due(node);
    expect(new Set(times).size).toBeGreaterThan(1);
    await clock.turn(Math.min(...times));
    await untilChecked(node, 9);
    for (const [index] of urls.entries())
      expect(webs[index % webs.length]?.requests(`/${index}`)).toHaveLength(2);
  });

  test('join a round of many sources if it has fewer than three hosts', async () => {
    const node = await openCollectingNode({}, { clock, collect: true });
    const [first, second, third] = webs as [ScriptedWeb, ScriptedWeb, ScriptedWeb];
    const many = Array.from({ length: 110 }, (_, index) => (index % 2 ? first : second).url(`/c${index}`));
    await watchList(node, [...many, third.url('/last')]);
    await clock.turn(MINUTE);
    await untilChecked(node, 111);
  });
});
