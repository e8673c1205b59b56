import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { POLL_INTERVAL_MS } from '../../server/fixity/fixity.ts';
import { databaseFile } from '../../server/store/files.ts';
import { addPeer } from '../peers/support.ts';
import { sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { ManualClock } from '../support/manualClock.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { audit, audits, fixityOf, objectEntries, overwrite } from './support.ts';

const DAY = 86_400_000;
const FILES = { 'a.txt': '0123456789', 'b.txt': 'abcdefghij', 'c.txt': 'ABCDEFGHIJ' };
/** In the order in which they are checked. */
const DIGESTS = Object.values(FILES).map(sha256Of).toSorted();
let clock: ManualClock;
let node: TestNode;

beforeEach(async () => {
  clock = new ManualClock();
  node = await openTestNode({ clock, audit: true });
  await uploadNewPack(node, sampleRecord(), FILES);
});
afterEach(closeTestNodes);

/** Advances the clock at once, and waits until everything that is due was checked. */
async function sleepFor(ms: number): Promise<void> {
  await clock.sleeperOf(POLL_INTERVAL_MS);
  await clock.jump(ms);
  await clock.sleeperOf(POLL_INTERVAL_MS);
}

async function checked(): Promise<number[]> {
  return (await audits(node)).map((record) => record.checked);
}

test('every blob is checked once per interval, spread evenly, and then again', async () => {
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
  await sleepFor(POLL_INTERVAL_MS);
  await sleepFor(10 * DAY);
  expect(await checked(), 'the second cycle').toEqual([1, 3]);
});

test('after a restart the audit continues at its position and catches up', async () => {
  await sleepFor(10 * DAY);
  await node.close();
  node = await openTestNode({ clock, audit: true, dataFolder: node.dataFolder });
  await clock.sleeperOf(POLL_INTERVAL_MS);
  expect(await checked(), 'no blob is checked twice').toEqual([1]);
  await sleepFor(300 * DAY);
  expect(await audits(node)).toMatchObject([{ completed: true, checked: 3, bytes: 30 }]);
});

test('damage is recorded when it is due, and a repair at the next check', async () => {
  await overwrite(node.dataFolder, DIGESTS[0] ?? '', 'something else');
  await sleepFor(10 * DAY);
  expect(await fixityOf(node)).toMatchObject({ damaged: [{ sha256: DIGESTS[0], problem: 'changed' }] });
  const right = Object.values(FILES).find((text) => sha256Of(text) === DIGESTS[0]) ?? '';
  await overwrite(node.dataFolder, DIGESTS[0] ?? '', right);
  await sleepFor(POLL_INTERVAL_MS);
  expect(await fixityOf(node)).toMatchObject({ damaged_objects: 0 });
  expect((await objectEntries(node)).map(({ type }) => type)).toEqual(['object.damaged', 'object.restored']);
});

test('the audit goes on after objects that are offloaded, although it reads none of them', async () => {
  await node.close();
  const database = new Database(databaseFile(node.dataFolder));
  const offload = database.prepare(
    'INSERT INTO offloaded_objects (sha256, bytes, pieces, offloaded_at) VALUES (?, 10, ?, ?)',
  );
  for (const sha256 of DIGESTS) {
    await rm(join(node.dataFolder, 'blobs', sha256.slice(0, 2), sha256.slice(2, 4), sha256));
    offload.run(sha256, Buffer.alloc(32), '2026-11-20T10:00:00.000Z');
  }
  node = await openTestNode({ clock, audit: true, dataFolder: node.dataFolder });
  await sleepFor(10 * DAY);
  expect(await checked()).toEqual([0]);
  expect(database.prepare('SELECT position FROM audits').pluck().all()).toEqual([DIGESTS.at(-1)]);
  database.close();
});

test('a full audit by the owner restarts the interval', async () => {
  await sleepFor(20 * DAY);
  await audit(node);
  await sleepFor(POLL_INTERVAL_MS);
  await sleepFor(9 * DAY);
  expect(
    (await audits(node)).map(({ started_by, completed, checked: count }) => [started_by, completed, count]),
  ).toEqual([
    ['schedule', false, 0],
    ['owner', true, 3],
    ['schedule', false, 2],
  ]);
});

test('the end of a cycle moves blobs that no row names', async () => {
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

test('an interval of 0 days turns the scheduled audit off', async () => {
  expect((await node.sendJson('PATCH', '/manage/settings', { audit_every_days: 0 })).status).toBe(200);
  await sleepFor(100 * DAY);
  expect(await checked()).toEqual([0]);
  for (const audit_every_days of [-1, 0.5, 3651, null])
    expect((await node.sendJson('PATCH', '/manage/settings', { audit_every_days })).status).toBe(422);
});

test('damage is repaired from a copy that holds the bytes, and is looked for again after a day', async () => {
  const folder = await temporaryFolder();
  const added = await node.sendJson('POST', '/manage/copies', { target: `file://${folder}` });
  const { id } = (await added.json()) as { id: string };
  expect((await node.sendJson('POST', `/manage/copies/${id}/sync?wait=true`, {})).status).toBe(200);
  const [first = '', second = ''] = DIGESTS;
  await overwrite(node.dataFolder, first, 'something else');
  await sleepFor(10 * DAY);
  expect(await fixityOf(node)).toMatchObject({ damaged_objects: 0 });
  expect((await objectEntries(node)).map(({ type }) => type)).toEqual(['object.damaged', 'object.restored']);
  expect(sha256Of(await (await node.fetch(`/api/blobs/${first}`)).text())).toBe(first);

  // Bytes of a copy that are damaged themselves are not taken.
  const good = await readFile(join(folder, 'archive', second));
  await writeFile(join(folder, 'archive', second), 'also else');
  await overwrite(node.dataFolder, second, 'something else');
  await sleepFor(10 * DAY);
  expect(await fixityOf(node)).toMatchObject({ damaged: [{ sha256: second }] });
  await writeFile(join(folder, 'archive', second), good);
  await sleepFor(POLL_INTERVAL_MS);
  expect(await fixityOf(node), 'it was looked for a moment ago').toMatchObject({ damaged_objects: 1 });
  await sleepFor(DAY);
  expect(await fixityOf(node)).toMatchObject({ damaged_objects: 0 });
  expect((await objectEntries(node)).at(-1)).toMatchObject({ type: 'object.restored', subject: second });
});

test('damage is repaired from a peer, if the owner wants that', async () => {
  const peer = await openTestNode();
  await uploadNewPack(peer, sampleRecord(), FILES);
  await addPeer(node, peer.url);
  await overwrite(node.dataFolder, DIGESTS[0] ?? '', 'something else');
  await sleepFor(10 * DAY);
  expect(await fixityOf(node)).toMatchObject({ damaged_objects: 1 });
  expect((await node.sendJson('PATCH', '/manage/settings', { repair_from_peers: true })).status).toBe(200);
  await sleepFor(DAY);
  expect(await fixityOf(node)).toMatchObject({ damaged_objects: 0 });
  expect((await objectEntries(node)).map(({ type }) => type)).toEqual(['object.damaged', 'object.restored']);
});
