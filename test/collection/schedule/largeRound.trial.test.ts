import type { Socket } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { ControlledDisk, closeControlledDisks } from '../../support/disk/controlledDisk.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

afterEach(async () => {
  // A spy on a timer is removed first, because it would put the fake timer back.
  vi.restoreAllMocks();
  vi.useRealTimers();
  await closeControlledDisks();
  await closeTestNodes();
  await closeScriptedWebs();
});

/** Pages that are answered when the test says so. */
class HeldPages {
  readonly #web: ScriptedWeb;
  readonly #node: CollectingNode;
  #onAsked = () => {};
  #held: Socket[] = [];
  #asked = 0;

  private constructor(web: ScriptedWeb, node: CollectingNode) {
    this.#web = web;
    this.#node = node;
  }

  static async watchedBy(node: CollectingNode, count: number): Promise<HeldPages> {
    const pages = new HeldPages(await ScriptedWeb.open(), node);
    for (let number = 0; number < count; number += 1) {
      pages.#web.script(`/${number}`, (socket) => {
        pages.#asked += 1;
        pages.#held.push(socket);
        pages.#onAsked();
      });
    }
    const urls = Array.from({ length: count }, (_, number) => pages.#web.url(`/${number}`));
    await node.watchList(urls, { ignore_robots: true });
    return pages;
  }

  /** Requires that this many requests were sent in total, and that no more follow. */
  async requireAsked(count: number): Promise<void> {
    // `expect.poll` would advance the timers of the test.
    while (this.#asked < count)
      await new Promise<void>((resolve) => {
        this.#onAsked = resolve;
      });
    for (let request = 0; request < 5; request += 1) await this.#node.status();
    expect(this.#asked).toBe(count);
  }

  /** Answers what was asked so far. */
  async answer(): Promise<void> {
    const respond = page('A page.');
    for (const socket of this.#held.splice(0))
      await respond(socket, { method: 'GET', path: '/', headers: {} });
  }
}

describe('the number of requests at once', () => {
  /** The interval in which a round measures the event loop. */
  const INTERVAL_MS = 10;
  let now = 0;

  /** Opens a node whose event loop is as late as `measure` says. */
  async function openMeasuredNode(concurrency: number): Promise<CollectingNode> {
    vi.useFakeTimers({ toFake: ['setInterval'] });
    now = performance.now();
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    return openCollectingNode({ collection_concurrency: concurrency, per_host_concurrency: concurrency });
  }

  /** Lets the round find this delay of the event loop, this many times. */
  function measure(delayMs: number, times = 1): void {
    for (let time = 0; time < times; time += 1) {
      now += INTERVAL_MS + delayMs;
      vi.advanceTimersByTime(INTERVAL_MS);
    }
  }

  test('is four at first, grows while the event loop is responsive, and is halved when it was blocked', async () => {
    const node = await openMeasuredNode(32);
    const pages = await HeldPages.watchedBy(node, 90);
    const [begin, end] = [vi.spyOn(globalThis, 'setInterval'), vi.spyOn(globalThis, 'clearInterval')];
    const watches = () => begin.mock.results.filter((_, call) => begin.mock.calls[call]?.[1] === INTERVAL_MS);
    const round = node.check();
    await pages.requireAsked(4);
    expect(watches(), 'the event loop is watched').toHaveLength(1);
    measure(0);
    await pages.requireAsked(6);
    measure(0, 4);
    await pages.requireAsked(14);
    measure(10, 5);
    await pages.requireAsked(14);
    measure(0, 9);
    await pages.requireAsked(32);
    measure(25);
    await pages.answer();
    await pages.requireAsked(32 + 16);
    measure(400, 20);
    await pages.answer();
    await pages.requireAsked(32 + 16 + 4);
    measure(0, 40);
    await pages.requireAsked(32 + 16 + 32);
    await pages.answer();
    await pages.requireAsked(90);
    await pages.answer();
    expect(await round).toMatchObject({ checked: 90, changed: 90 });
    for (const { value } of watches()) expect(end, 'it is no longer watched').toHaveBeenCalledWith(value);
  });

  test.each([1, 6])('never exceeds the %i of the settings', async (concurrency) => {
    const node = await openMeasuredNode(concurrency);
    const pages = await HeldPages.watchedBy(node, 2 * concurrency + 3);
    expect((await node.node.sendJson('POST', '/manage/collections', {})).status).toBe(202);
    await pages.requireAsked(Math.min(4, concurrency));
    measure(0, 50);
    await pages.requireAsked(concurrency);
    await pages.answer();
    await pages.requireAsked(2 * concurrency);
  });
});

test('a round sends no more requests while 512 objects wait to be recorded, and records every object', async () => {
  const SOURCES = 600;
  const MAX_PENDING = 512;
  const CONCURRENCY = 32;
  const web = await ScriptedWeb.open();
  const disk = await ControlledDisk.serve();
  const urls = Array.from({ length: SOURCES }, (_, number) => {
    web.script(`/${number}`, page(`page ${number}`));
    return web.url(`/${number}`);
  });
  const settings = {
    per_host_pause_ms: 0,
    collection_concurrency: CONCURRENCY,
    per_host_concurrency: CONCURRENCY,
  };
  expect((await disk.send('PATCH', '/manage/settings', settings)).status).toBe(200);
  for (const list of [urls.slice(0, 10), urls.slice(10)])
    expect((await disk.send('POST', '/manage/sources/import', `${list.join('\n')}\n`)).status).toBe(200);
  const asked = () => urls.filter((_, number) => web.requests(`/${number}`).length > 0).length;
  // The commit that begins the round passes.
  await disk.rule({ call: 'sync', path: '-wal', passes: 1 });
  const round = disk.send('POST', '/manage/collections?wait=true', {});
  await expect.poll(asked).toBeGreaterThanOrEqual(MAX_PENDING);
  for (let request = 0; request < 200; request += 1) await (await disk.send('GET', '/api/health')).text();
  expect(asked()).toBeLessThan(MAX_PENDING + CONCURRENCY);
  await disk.endRule();
  expect(await (await round).json()).toMatchObject({ checked: SOURCES, changed: SOURCES });
  expect(await (await disk.send('GET', '/api/events?limit=1')).json()).toMatchObject({ total: SOURCES });
});
