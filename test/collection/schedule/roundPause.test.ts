import { afterEach, beforeEach, expect, test } from 'vitest';
import { ManualClock } from '../../support/manualClock.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

const MINUTE = 60_000;
let web: ScriptedWeb;
let clock: ManualClock;
let node: CollectingNode;
let isLow: boolean;
let network: 'metered' | 'no_network' | null;

beforeEach(async () => {
  clock = new ManualClock();
  [isLow, network] = [false, null];
  web = await ScriptedWeb.open();
  web.script('/page', page('text'));
  node = await openCollectingNode(
    { request_timeout_seconds: 3600 },
    { clock, collect: true, batteryLow: async () => isLow, networkPause: async () => network },
  );
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const paused = async () => (await node.read<{ paused: string | null }>('/manage/round-pause')).paused;

test.each([
  ['battery_low', 'collect_on_low_battery'],
  ['metered', 'collect_when_metered'],
] as const)('no round starts by itself (%s) until that is over or chosen', async (reason, setting) => {
  isLow = reason === 'battery_low';
  network = reason === 'metered' ? 'metered' : null;
  await node.watch(web.url('/page'));
  await clock.turn(30 * MINUTE);
  await expect.poll(paused).toBe(reason);
  expect(web.requests('/page')).toHaveLength(0);
  // What a person starts is not paused.
  await node.check();
  expect(web.requests('/page')).toHaveLength(1);
  await node.node.sendJson('PATCH', '/manage/settings', { [setting]: true });
  await clock.turn(70 * MINUTE);
  await web.asked('/page', 2);
  await expect.poll(paused).toBe(null);
});

test('a missing network pauses nothing: the round itself finds out', async () => {
  network = 'no_network';
  await node.watch(web.url('/page'));
  await clock.turn(2 * MINUTE);
  await web.asked('/page');
});

test('sleep: no round begins before the machine is awake, and what became due is spread', async () => {
  const SOURCES = 60;
  for (let number = 0; number < SOURCES; number += 1) {
    web.script(`/${number}`, page('text'));
    // No interval is long enough for a source to join a round early.
    await node.watch(web.url(`/${number}`), { every: '0 12 * * *' });
  }
  node.node.suspend();
  await clock.jump(24 * 60 * MINUTE);
  await clock.turn(MINUTE);
  const asked = () =>
    Array.from({ length: SOURCES }, (_, number) => web.requests(`/${number}`).length).filter(
      (count) => count > 0,
    ).length;
  expect(asked()).toBe(0);
  node.node.resume();
  await expect
    .poll(async () =>
      (await node.read<{ items: { next_check_at: string }[] }>('/manage/sources?limit=100')).items
        .map(({ next_check_at }) =>
          Math.max(0, Math.round((Date.parse(next_check_at) - clock.now()) / 1_000)),
        )
        .filter((seconds) => seconds > 0 && seconds <= 20)
        .sort((left, right) => left - right),
    )
    .toEqual([2, 4, 6, 8, 10, 12, 14, 16, 18, 20]);
});
