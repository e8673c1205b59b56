import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Status } from '../../shared/collection/collection.ts';
import type { LedgerEntry } from '../../shared/ledger/ledger.ts';
import { uploadNewPack } from '../support/archive/packs.ts';
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
