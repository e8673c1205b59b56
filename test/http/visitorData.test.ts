import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { ManualClock } from '../support/manualClock.ts';
import { openSharedNode, visitorsOf, write } from '../support/network/visitors.ts';
import { closeTestNodes, openTestNode } from '../support/node.ts';

afterEach(closeTestNodes);

describe('stored data about visitors (contract, section 5)', () => {
  test('counters survive a restart', async () => {
    const clock = new ManualClock();
    const node = await openSharedNode({ ip_writes_per_hour: 2 }, { clock });
    await write(node);
    await write(node);
    await node.close();
    const again = await openTestNode({ clock, dataFolder: node.dataFolder });
    expect((await write(again)).status).toBe(429);
    await clock.turn(3_600_000);
    expect((await write(again)).status).toBe(201);
  });

  test('the counts of a day that ended while the node was closed are deleted at startup', async () => {
    const clock = new ManualClock();
    const node = await openSharedNode({}, { clock });
    await write(node);
    await node.close();
    await clock.turn(86_400_000);
    const again = await openTestNode({ clock, dataFolder: node.dataFolder });
    await expect.poll(() => visitorsOf(again)).toMatchObject({ day: '2026-11-21', counts: [] });
  });

  test('addresses are stored as keyed hashes, which are deleted at the end of the day even if nobody writes', async () => {
    const clock = new ManualClock('2026-11-20T23:00:00.000Z');
    const node = await openSharedNode({}, { clock });
    await write(node);
    const today = visitorsOf(node);
    expect(today.counts).toEqual([
      { who: '', writes: 1 },
      { who: expect.stringMatching(/^[\w-]{43}$/) as string, writes: 1 },
    ]);
    expect(today.day).toBe('2026-11-20');

    await clock.turn(3_600_000);
    await expect.poll(() => visitorsOf(node)).toMatchObject({ day: '2026-11-21', counts: [] });
    expect(visitorsOf(node).key).not.toBe(today.key);
    await write(node);
    expect(visitorsOf(node).counts[1]?.who).not.toBe(today.counts[1]?.who);
    await node.close();
    const file = await readFile(join(node.dataFolder, 'strongroom.db'));
    expect(file.includes(Buffer.from(today.key))).toBe(false);
    expect(file.includes(Buffer.from('127.0.0.1'))).toBe(false);
  });
});
