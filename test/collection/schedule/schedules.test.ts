import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { WatchedSource } from '../../../shared/collection/source.ts';
import { eventually } from '../../support/eventually.ts';
import { ManualClock } from '../../support/manualClock.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

const MINUTE = 60_000;
let web: ScriptedWeb;
let clock: ManualClock;
let node: CollectingNode;

beforeEach(async () => {
  clock = new ManualClock('2026-11-20T10:00:00.000Z');
  web = await ScriptedWeb.open();
  web.script('/page', page('text'));
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const open = () => openCollectingNode({ request_timeout_seconds: 3600 }, { clock, collect: true });

/** Minutes from 10:00 to when the source is next due. */
async function dueIn(id: string): Promise<number> {
  const { next_check_at } = await node.source(id);
  return (Date.parse(next_check_at ?? '') - Date.parse('2026-11-20T10:00:00Z')) / MINUTE;
}

async function change(id: string, fields: object): Promise<WatchedSource> {
  const response = await node.node.sendJson('PATCH', `/manage/sources/${id}`, fields);
  expect(response.status).toBe(200);
  return (await response.json()) as WatchedSource;
}

async function checked(id: string, times: number): Promise<void> {
  await web.asked('/page', times);
  await eventually(async () => {
    const { recent_checks, next_check_at } = await node.source(id);
    expect(recent_checks).toHaveLength(times);
    expect(Date.parse(next_check_at ?? '')).toBeGreaterThan(clock.now());
  });
}

describe('a source with a cron expression', () => {
  test('is checked at its times, with a delay of at most 30 seconds, and never early', async () => {
    node = await open();
    const { id } = await node.watch(web.url('/page'), { every: '0 12 * * *', time_zone: 'Europe/Berlin' });
    expect(await dueIn(id)).toBeGreaterThanOrEqual(60);
    expect(await dueIn(id)).toBeLessThanOrEqual(60.5);
    await clock.turn(59.9 * MINUTE);
    expect(web.requests('/page')).toHaveLength(0);
    for (let waited = 0; waited < 60 && web.requests('/page').length === 0; waited += 1)
      await clock.turn(1_000);
    await checked(id, 1);
    expect(await dueIn(id)).toBeGreaterThanOrEqual(25 * 60);
    expect(await dueIn(id)).toBeLessThanOrEqual(25 * 60 + 0.5);
  });

  test('keeps its time when the node starts again long before it, and when the default interval changes', async () => {
    node = await open();
    const { id } = await node.watch(web.url('/page'), { every: '0 0 1 * *' });
    const due = (await node.source(id)).next_check_at;
    await node.set({ collection_every_minutes: 5 });
    await clock.turn(MINUTE);
    expect((await node.source(id)).next_check_at).toBe(due);
    expect(await node.status()).toMatchObject({ reason: 'not_yet' });
  });

  test('the owner may check it at any time; changed back to an interval, it is due soon', async () => {
    node = await open();
    const { id } = await node.watch(web.url('/page'), { every: '0 0 1 * *' });
    expect(await node.check([id])).toMatchObject({ checked: 1 });
    expect(await dueIn(id)).toBeGreaterThan(24 * 60);
    await change(id, { every: null, every_minutes: 60 });
    expect(await dueIn(id)).toBeLessThanOrEqual(1);
  });
});

describe('a source with active hours', () => {
  const active_hours = { from: '08:00', to: '12:00', time_zone: 'Europe/Berlin' };

  test('is not checked outside them, and goes on soon after they begin', async () => {
    node = await open();
    const { id } = await node.watch(web.url('/page'), { every_minutes: 20, active_hours });
    // It is 11:00 in Berlin.
    await clock.turn(1.5 * MINUTE);
    await checked(id, 1);
    await clock.turn(21.5 * MINUTE);
    await checked(id, 2);
    await clock.turn(22 * MINUTE);
    await checked(id, 3);
    // The fourth would be after 12:00: it waits for 8:00, which is 7:00 UTC.
    expect(await dueIn(id)).toBeGreaterThanOrEqual(21 * 60);
    expect(await dueIn(id)).toBeLessThanOrEqual(21 * 60 + 5);
  });

  test('of a few minutes over a full hour is checked within them each day', async () => {
    node = await open();
    const short = { from: '11:59', to: '12:01', time_zone: 'Europe/Berlin' };
    const sources = await Promise.all(
      Array.from({ length: 20 }, (_, index) => node.watch(web.url(`/${index}`), { active_hours: short })),
    );
    for (const { id } of sources) {
      expect(await dueIn(id)).toBeGreaterThanOrEqual(59);
      expect(await dueIn(id)).toBeLessThanOrEqual(60);
    }
  });

  test('that was due while the node was closed waits for them', async () => {
    node = await open();
    const { id } = await node.watch(web.url('/page'), { every_minutes: 20, active_hours });
    await clock.turn(1.5 * MINUTE);
    await checked(id, 1);
    await clock.jump(6 * 60 * MINUTE);
    await clock.turn(MINUTE);
    await eventually(async () => expect(await dueIn(id)).toBeGreaterThanOrEqual(21 * 60));
    expect(web.requests('/page')).toHaveLength(1);
  });
});

describe('schedules', () => {
  test.each([
    [{ every: 'often' }, '/every'],
    [{ every: '0 0 30 2 *' }, '/every'],
    [{ every: '0 3 * * *', active_hours: { from: '08:00', to: '09:00', time_zone: 'UTC' } }, '/every'],
    [{ time_zone: 'Mars/Olympus' }, '/time_zone'],
    [{ active_hours: { from: '08:00', to: '09:00' } }, '/active_hours/time_zone'],
  ])('%j is refused', async (fields, path) => {
    node = await open();
    const response = await node.node.sendJson('POST', '/manage/sources', {
      url: web.url('/page'),
      ...fields,
    });
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ code: 'invalid_field', errors: [{ path }] });
  });

  test('are recorded in the ledger with the other settings, only if they are set', async () => {
    node = await open();
    const { id } = await node.watch(web.url('/page'), { every: '@daily' });
    await change(id, {
      active_hours: { from: '08:00', to: '09:00', days: ['mon'], time_zone: 'UTC' },
      every: null,
    });
    expect((await node.read<{ ok: boolean }>('/api/ledger/verify')).ok).toBe(true);
    const dump = await (await node.node.fetch('/api/dump.jsonl')).text();
    const records = dump.split('\n').filter((line) => line.startsWith('{"kind":"source_revision"'));
    expect(records[0]).toContain('"every":"@daily"');
    expect(records[0]).not.toContain('active_hours');
    expect(records[1]).toContain(
      '"active_hours":{"from":"08:00","to":"09:00","days":["mon"],"time_zone":"UTC"}',
    );
  });
});
