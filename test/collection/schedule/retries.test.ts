import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ManualClock } from '../../support/manualClock.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { openCollectingNode } from '../support.ts';

let web: ScriptedWeb;

beforeEach(async () => {
  web = await ScriptedWeb.open();
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const found = (body: string) => page(body);
const broken = page('broken', { status: 500 });

describe('retries within a round', () => {
  test('a failure is retried with growing delays before it counts; every attempt is recorded', async () => {
    const clock = new ManualClock();
    const node = await openCollectingNode(
      { retry_delays_seconds: [2, 10], unavailable_after_failures: 1 },
      { clock },
    );
    web.script('/page', found('1'), broken, broken, found('1'), broken);
    const { id } = await node.watch(web.url('/page'));
    await node.check();
    const second = node.check();
    await clock.sleeperOf(2_000);
    await clock.turn(2_000);
    await clock.sleeperOf(10_000);
    await clock.turn(10_000);
    expect(await second).toMatchObject({ checked: 1, unchanged: 1, failed: 0, events: [] });
    expect((await node.retrievals(id)).map(({ status }) => status)).toEqual([200, 500, 500, 200]);
    expect(await node.source(id)).toMatchObject({ consecutive_failures: 0, last_status: 200 });
    const third = node.check();
    await clock.sleeperOf(2_000);
    await clock.turn(2_000);
    await clock.sleeperOf(10_000);
    await clock.turn(10_000);
    expect(await third, 'three attempts are one failure').toMatchObject({ failed: 1, events: [2] });
    expect(await node.source(id)).toMatchObject({ consecutive_failures: 1, state: 'unavailable' });
  });

  test('Retry-After in seconds or as a date delays the retry', async () => {
    const clock = new ManualClock();
    const node = await openCollectingNode({ retry_delays_seconds: [2, 2] }, { clock });
    const busy = (after: string) => page('later', { status: 503, headers: { 'Retry-After': after } });
    web.script('/page', busy('30'), busy(new Date(clock.now() + 50_000).toUTCString()), found('1'));
    await node.watch(web.url('/page'));
    const checking = node.check();
    await clock.sleeperOf(30_000);
    await clock.turn(30_000);
    await clock.sleeperOf(20_000);
    expect(web.requests('/page')).toHaveLength(2);
    await clock.turn(20_000);
    expect(await checking).toMatchObject({ failed: 0, changed: 1 });
  });

  test('a host with a long Retry-After is not requested until then, and its source is due then', async () => {
    const clock = new ManualClock();
    const node = await openCollectingNode({ retry_delays_seconds: [2] }, { clock });
    web.script('/page', page('later', { status: 429, headers: { 'Retry-After': '7200' } }), found('1'));
    const { id } = await node.watch(web.url('/page'), { every_minutes: 1 });
    expect(await node.check()).toMatchObject({ checked: 1, failed: 1 });
    expect((await node.source(id)).next_check_at).toBe(new Date(clock.now() + 7_200_000).toISOString());
    expect(await node.check()).toMatchObject({ checked: 0, failed: 0 });
    await clock.turn(7_200_000);
    expect(await node.check()).toMatchObject({ checked: 1, changed: 1 });
    expect(web.requests('/page')).toHaveLength(2);
  });

  test.each(['9'.repeat(400), '99999999999999', '31536000', 'Fri, 31 Dec 9999 23:59:59 GMT'])(
    'Retry-After is limited to a day (Retry-After: %s)',
    async (after) => {
      const clock = new ManualClock();
      const node = await openCollectingNode({ retry_delays_seconds: [2] }, { clock });
      web.script('/page', page('later', { status: 503, headers: { 'Retry-After': after } }));
      const { id } = await node.watch(web.url('/page'));
      expect(await node.check()).toMatchObject({ checked: 1, failed: 1 });
      expect((await node.source(id)).next_check_at).toBe(new Date(clock.now() + 86_400_000).toISOString());
    },
  );

  test.each(['soon', '', '-30', '1.5', 'Thu, 01 Jan 1970 00:00:00 GMT'])(
    'an invalid or past Retry-After is ignored (Retry-After: %s)',
    async (after) => {
      const clock = new ManualClock();
      const node = await openCollectingNode({ retry_delays_seconds: [2] }, { clock });
      web.script('/page', page('later', { status: 503, headers: { 'Retry-After': after } }), found('1'));
      await node.watch(web.url('/page'));
      const checking = node.check();
      await clock.sleeperOf(2_000);
      await clock.turn(2_000);
      expect(await checking).toMatchObject({ checked: 1, changed: 1 });
    },
  );
});
