import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ManualClock } from '../../support/manualClock.ts';
import { closeScriptedWebs, page, ScriptedWeb, stall } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes, temporaryFolder } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

const MINUTE = 60_000;
let web: ScriptedWeb;
let clock: ManualClock;
let node: CollectingNode;

beforeEach(async () => {
  clock = new ManualClock();
  web = await ScriptedWeb.open();
  web.script('/page', page('text'));
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

/** Turns the clock until the source has been checked `times` times. Fails if it is checked before `from`. */
async function checkedBetween(path: string, times: number, from: number, to: number): Promise<void> {
  await clock.turn(from);
  expect(web.requests(path)).toHaveLength(times - 1);
  for (let waited = from; waited < to && web.requests(path).length < times; waited += 1_000)
    await clock.turn(1_000);
  await web.asked(path, times);
  await untilRecorded(times);
}

/** Waits until every source shows this many checks and a due time in the future. */
async function untilRecorded(times: number): Promise<void> {
  await expect
    .poll(async () => {
      const { items } = await node.read<{ items: { recent_checks: unknown[]; next_check_at: string }[] }>(
        '/manage/sources',
      );
      return items.every(
        (item) => item.recent_checks.length >= times && Date.parse(item.next_check_at) > clock.now(),
      );
    })
    .toBe(true);
}

describe('on schedule', () => {
  test('a source is checked a minute after it is added, then at its interval with ±5 % jitter', async () => {
    node = await openCollectingNode({ request_timeout_seconds: 3600 }, { clock, collect: true });
    await node.watch(web.url('/page'), { every_minutes: 20 });
    await checkedBetween('/page', 1, MINUTE - 1_000, MINUTE + 1_000);
    await checkedBetween('/page', 2, 18.9 * MINUTE, 21.1 * MINUTE);
    await checkedBetween('/page', 3, 18.9 * MINUTE, 21.1 * MINUTE);
  });

  test('a source that was due several times while the machine slept is checked once', async () => {
    node = await openCollectingNode({ request_timeout_seconds: 3600 }, { clock, collect: true });
    await node.watch(web.url('/page'));
    await checkedBetween('/page', 1, MINUTE - 1_000, MINUTE + 1_000);
    await clock.jump(24 * 60 * MINUTE);
    await web.asked('/page', 2);
    await untilRecorded(2);
    await clock.turn(50 * MINUTE);
    expect(web.requests('/page')).toHaveLength(2);
  });

  test('a source that was due several times while the node was closed is checked once', async () => {
    const dataFolder = join(await temporaryFolder(), 'data');
    node = await openCollectingNode({ request_timeout_seconds: 3600 }, { clock, dataFolder });
    await node.watch(web.url('/page'));
    await node.check();
    await node.node.close();
    await clock.turn(600 * MINUTE);
    node = await openCollectingNode({ request_timeout_seconds: 3600 }, { clock, dataFolder, collect: true });
    await web.asked('/page', 2);
    await untilRecorded(2);
    await clock.turn(50 * MINUTE);
    expect(web.requests('/page')).toHaveLength(2);
  });

  test('due times are brought nearer after the clock is set back', async () => {
    node = await openCollectingNode({ request_timeout_seconds: 3600 }, { clock, collect: true });
    const { id } = await node.watch(web.url('/page'));
    await checkedBetween('/page', 1, MINUTE - 1_000, MINUTE + 1_000);
    await clock.jump(-5 * 60 * MINUTE);
    await clock.wakeAll();
    await expect
      .poll(async () => Date.parse((await node.source(id)).next_check_at ?? ''))
      .toBeLessThan(clock.now() + 61 * MINUTE);
    await checkedBetween('/page', 2, 55 * MINUTE, 70 * MINUTE);
  });

  test('due times are brought nearer if the clock was set back while the node was closed', async () => {
    const dataFolder = join(await temporaryFolder(), 'data');
    const wrong = new ManualClock('2099-01-01T00:00:00.000Z');
    node = await openCollectingNode({ request_timeout_seconds: 3600 }, { clock: wrong, dataFolder });
    await node.watch(web.url('/page'));
    await node.check();
    await node.node.close();
    node = await openCollectingNode({ request_timeout_seconds: 3600 }, { clock, dataFolder, collect: true });
    await checkedBetween('/page', 2, 55 * MINUTE, 70 * MINUTE);
    expect((await node.status()).age_seconds).toBeGreaterThanOrEqual(0);
  });

  test('paused and removed sources are not checked; a resumed source is checked when it is due', async () => {
    node = await openCollectingNode({ request_timeout_seconds: 3600 }, { clock, collect: true });
    web.script('/removed', page('text'));
    const { id } = await node.watch(web.url('/page'));
    const { id: removed } = await node.watch(web.url('/removed'));
    await node.node.sendJson('PATCH', `/manage/sources/${id}`, { paused: true });
    await node.node.fetchAsOwner(`/manage/sources/${removed}`, { method: 'DELETE' });
    expect((await node.source(id)).next_check_at).toBeNull();
    await clock.turn(300 * MINUTE);
    expect([web.requests('/page'), web.requests('/removed')]).toEqual([[], []]);
    await node.node.sendJson('PATCH', `/manage/sources/${id}`, { paused: false });
    await web.asked('/page');
  });

  test('a shorter default interval takes effect at once', async () => {
    node = await openCollectingNode({ request_timeout_seconds: 3600 }, { clock, collect: true });
    await node.watch(web.url('/page'));
    await checkedBetween('/page', 1, MINUTE - 1_000, MINUTE + 1_000);
    await node.set({ collection_every_minutes: 5 });
    await checkedBetween('/page', 2, 4.5 * MINUTE, 6 * MINUTE);
  });

  test('sources with the same interval are checked in one round', async () => {
    node = await openCollectingNode({ request_timeout_seconds: 3600 }, { clock, collect: true });
    web.script('/second', page('text'));
    await node.watch(web.url('/page'));
    await clock.turn(2_000);
    await node.watch(web.url('/second'));
    await clock.turn(58_000);
    await web.asked('/second');
    expect(web.requests('/page')).toHaveLength(1);
  });

  test('without a schedule nothing is checked', async () => {
    node = await openCollectingNode({ request_timeout_seconds: 3600 }, { clock, collect: false });
    await node.watch(web.url('/page'));
    await clock.turn(300 * MINUTE);
    expect(web.requests('/page')).toEqual([]);
  });
});

describe('closing', () => {
  test.each([true, false])(
    'aborts running requests and leaves no temporary files (on schedule: %s)',
    async (collect) => {
      node = await openCollectingNode({ request_timeout_seconds: 3600 }, { clock, collect });
      web.script('/page', stall);
      await node.watch(web.url('/page'));
      const round = collect
        ? clock.turn(61_000)
        : node.node.fetchAsOwner('/manage/collections', { method: 'POST' });
      await round;
      await web.asked('/page');
      // Waiting for the request to end by itself would exceed the timeout of the test.
      await node.node.close();
      expect(await readdir(join(node.node.dataFolder, 'tmp'))).toEqual([]);
    },
  );

  test('responds to a request that waits for a round with the results so far', async () => {
    node = await openCollectingNode({ per_host_concurrency: 1 }, { clock });
    web.script('/stall', stall);
    const ids = [await node.watch(web.url('/page')), await node.watch(web.url('/stall'))].map(({ id }) => id);
    const waiting = node.check(ids);
    await web.asked('/stall');
    expect(web.requests('/page')).toHaveLength(1);
    await node.node.close();
    expect(await waiting).toMatchObject({ checked: 1 });
  });
});
