import { afterEach, beforeEach, expect, test } from 'vitest';
import { LOOK_EVERY_MS } from '../../server/fixity/auditSchedule.ts';
import { ManualClock } from '../support/manualClock.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { sampleRecord, sha256Of, uploadNewPack } from '../support/packs.ts';
import { audit, audits, fixityOf, objectEntries, overwrite } from './support.ts';

const DAY = 86_400_000;
const FILES = { 'a.txt': '0123456789', 'b.txt': 'abcdefghij', 'c.txt': 'ABCDEFGHIJ' };
/** In the order in which they are looked at. */
const DIGESTS = Object.values(FILES).map(sha256Of).toSorted();
let clock: ManualClock;
let node: TestNode;

beforeEach(async () => {
  clock = new ManualClock();
  node = await openTestNode({ clock, audit: true });
  await uploadNewPack(node, sampleRecord(), FILES);
});
afterEach(closeTestNodes);

/** Lets time go on as one sleep of the machine, and waits until what fell due was looked at. */
async function sleepFor(ms: number): Promise<void> {
  await clock.sleeperOf(LOOK_EVERY_MS);
  await clock.jump(ms);
  await clock.sleeperOf(LOOK_EVERY_MS);
}

async function checked(): Promise<number[]> {
  return (await audits(node)).map((record) => record.checked);
}

test('every object is looked at once in the interval, spread over it, and then again from the first', async () => {
  await sleepFor(9 * DAY);
  expect(await checked(), 'a third of the bytes is due after a third of the time').toEqual([0]);
  await sleepFor(DAY);
  expect(await checked()).toEqual([1]);
  await sleepFor(10 * DAY);
  expect(await checked()).toEqual([2]);
  expect(await fixityOf(node)).toMatchObject({ last_completed_audit_at: null });
  await sleepFor(10 * DAY);
  expect(await audits(node)).toMatchObject([
    { started_by: 'schedule', completed: true, checked: 3, bytes: 30 },
  ]);
  expect(await fixityOf(node)).toMatchObject({
    last_completed_audit_at: '2026-12-20T10:00:00.000Z',
    checked: 3,
  });
  await sleepFor(LOOK_EVERY_MS);
  await sleepFor(10 * DAY);
  expect(await checked(), 'the second time').toEqual([1, 3]);
});

test('a node that was closed goes on where it was, and catches up what fell due meanwhile, once', async () => {
  await sleepFor(10 * DAY);
  await node.close();
  node = await openTestNode({ clock, audit: true, dataFolder: node.dataFolder });
  await clock.sleeperOf(LOOK_EVERY_MS);
  expect(await checked(), 'nothing is looked at twice').toEqual([1]);
  await sleepFor(300 * DAY);
  expect(await audits(node)).toMatchObject([{ completed: true, checked: 3, bytes: 30 }]);
});

test('what is damaged is recorded when its turn comes, and seen to be right again at the next look', async () => {
  await overwrite(node.dataFolder, DIGESTS[0] ?? '', 'something else');
  await sleepFor(10 * DAY);
  expect(await fixityOf(node)).toMatchObject({ damaged: [{ sha256: DIGESTS[0], problem: 'changed' }] });
  const right = Object.values(FILES).find((text) => sha256Of(text) === DIGESTS[0]) ?? '';
  await overwrite(node.dataFolder, DIGESTS[0] ?? '', right);
  await sleepFor(LOOK_EVERY_MS);
  expect(await fixityOf(node)).toMatchObject({ damaged_objects: 0 });
  expect((await objectEntries(node)).map(({ type }) => type)).toEqual(['object.damaged', 'object.restored']);
});

test('after an audit that the owner started, the interval begins anew', async () => {
  await sleepFor(20 * DAY);
  await audit(node);
  await sleepFor(LOOK_EVERY_MS);
  await sleepFor(9 * DAY);
  expect(
    (await audits(node)).map(({ started_by, completed, checked: count }) => [started_by, completed, count]),
  ).toEqual([
    ['schedule', false, 0],
    ['owner', true, 3],
    ['schedule', false, 2],
  ]);
});

test('a cycle that is finished sets apart what no row names', async () => {
  const stray = sha256Of('a stray');
  await overwrite(node.dataFolder, stray, 'a stray');
  await sleepFor(10 * DAY);
  expect(await listedLost()).toEqual([]);
  await sleepFor(20 * DAY);
  expect(await listedLost()).toEqual([{ sha256: stray, bytes: 7, name: stray }]);
});

async function listedLost(): Promise<unknown> {
  const answer = await node.fetchAsOwner('/manage/lost-and-found');
  return ((await answer.json()) as { items: unknown }).items;
}

test('0 days is never', async () => {
  expect((await node.sendJson('PATCH', '/manage/settings', { audit_every_days: 0 })).status).toBe(200);
  await sleepFor(100 * DAY);
  expect(await checked()).toEqual([0]);
  for (const audit_every_days of [-1, 0.5, 3651, null])
    expect((await node.sendJson('PATCH', '/manage/settings', { audit_every_days })).status).toBe(422);
});
