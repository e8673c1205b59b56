import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { Status } from '../../shared/collection/collection.ts';
import type { LedgerEntry } from '../../shared/ledger/ledger.ts';
import { instantOf } from '../../shared/values/clock.ts';
import { problemOf, uploadNewPack } from '../support/archive/packs.ts';
import { ManualClock } from '../support/manualClock.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';

afterEach(closeTestNodes);

const HOUR = 3_600_000;

async function timesOf(node: TestNode): Promise<string[]> {
  const { items } = (await (await node.fetch('/api/ledger')).json()) as { items: LedgerEntry[] };
  return items.map(({ at }) => at);
}

async function behindOf(node: TestNode): Promise<number> {
  return ((await (await node.fetch('/api/status')).json()) as Status).clock_behind_seconds;
}

test('entries never go back in time when the clock does, even after a restart, and it is reported once', async () => {
  const dataFolder = join(await temporaryFolder(), 'data');
  const clock = new ManualClock();
  const warnings: string[] = [];
  const log = {
    info: () => {},
    warn: (_: object, message: string) => warnings.push(message),
    error: () => {},
  };
  const node = await openTestNode({ dataFolder, clock, log });
  await uploadNewPack(node, { title: 'first' });
  const [first = ''] = await timesOf(node);
  expect(await behindOf(node)).toBe(0);
  await clock.turn(-HOUR);
  await uploadNewPack(node, { title: 'second' });
  await uploadNewPack(node, { title: 'third' });
  expect(await timesOf(node)).toEqual([first, first, first]);
  expect(await behindOf(node)).toBe(3_600);
  expect(warnings).toEqual([expect.stringContaining('is behind the last recorded time')]);
  await node.close();

  const again = await openTestNode({ dataFolder, clock, log });
  expect(warnings).toHaveLength(2);
  await uploadNewPack(again, { title: 'fourth' });
  expect((await timesOf(again)).at(-1)).toBe(first);
  await clock.turn(2 * HOUR);
  await uploadNewPack(again, { title: 'fifth' });
  expect(Date.parse((await timesOf(again)).at(-1) ?? '')).toBe(Date.parse(first) + HOUR);
  expect(await behindOf(again)).toBe(0);
  expect(await (await again.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true });
});

describe('a clock that jumps ahead by more than a day (contract, section 23)', () => {
  const DAY = 24 * HOUR;
  const clockOf = async (node: TestNode) => (await node.fetchAsOwner('/manage/clock')).json();
  const add = (node: TestNode, title: string) => node.sendJson('POST', '/api/nodes', { path: title, title });

  test('is not recorded until the owner confirms it', async () => {
    const clock = new ManualClock();
    const node = await openTestNode({ clock });
    expect((await add(node, 'first')).status).toBe(201);
    clock.set(DAY + HOUR);
    const before = await timesOf(node);
    expect(await problemOf(await add(node, 'second'))).toMatchObject({ status: 503, code: 'clock_ahead' });
    expect(await timesOf(node)).toEqual(before);
    expect(await clockOf(node)).toEqual({ now: instantOf(clock.now()), ahead_seconds: (25 * HOUR) / 1_000 });

    expect((await node.fetch('/manage/clock', { method: 'POST' })).status, 'of a visitor').toBe(401);
    expect((await node.fetchAsOwner('/manage/clock', { method: 'POST' })).status).toBe(200);
    expect(await clockOf(node)).toMatchObject({ ahead_seconds: 0 });
    expect((await add(node, 'second')).status).toBe(201);
    expect((await timesOf(node)).at(-1)).toBe(instantOf(clock.now()));
  });

  test('leaves no trace in the times once it is corrected', async () => {
    const clock = new ManualClock();
    const node = await openTestNode({ clock });
    expect((await add(node, 'first')).status).toBe(201);
    clock.set(400 * DAY);
    expect((await add(node, 'second')).status).toBe(503);
    clock.set(-400 * DAY);
    expect((await add(node, 'second')).status).toBe(201);
    expect((await timesOf(node)).at(-1)).toBe(instantOf(clock.now()));
    expect(await behindOf(node)).toBe(0);
  });

  test('is none after a long sleep, a long pause, a smaller correction, or in an archive without entries', async () => {
    const dataFolder = join(await temporaryFolder(), 'data');
    const clock = new ManualClock();
    const node = await openTestNode({ dataFolder, clock });
    expect((await add(node, 'first')).status).toBe(201);
    await clock.jump(90 * DAY);
    expect((await add(node, 'after-sleep')).status).toBe(201);
    clock.set(DAY - HOUR);
    expect((await add(node, 'corrected')).status).toBe(201);
    await node.close();
    clock.set(200 * DAY);
    const again = await openTestNode({ dataFolder, clock });
    expect((await add(again, 'opened-again')).status).toBe(201);

    const empty = await openTestNode({ clock });
    clock.set(9_000 * DAY);
    expect((await add(empty, 'first')).status).toBe(201);
  });

  test('is told in the log once', async () => {
    const clock = new ManualClock();
    const warnings: string[] = [];
    const warn = (_: object, message: string) => warnings.push(message);
    const node = await openTestNode({ clock, log: { info: () => {}, warn, error: () => {} } });
    expect((await add(node, 'first')).status).toBe(201);
    clock.set(2 * DAY);
    for (const title of ['second', 'third']) expect((await add(node, title)).status).toBe(503);
    expect(warnings.filter((each) => each.includes('jumped ahead'))).toHaveLength(1);
  });
});
