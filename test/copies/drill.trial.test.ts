import { existsSync } from 'node:fs';
import { appendFile, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Copies } from '../../server/copies/copies.ts';
import { openArchive } from '../../server/ledger/openArchive.ts';
import { Jobs } from '../../server/runtime/jobs.ts';
import { createLog } from '../../server/runtime/log.ts';
import { DEFAULT_SETTINGS } from '../../shared/node/settings.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { AlertingNode, closeAll, dataOf } from '../alerts/support.ts';
import { WebhookReceiver } from '../alerts/webhookReceiver.ts';
import { filledArchive } from '../dump/filledArchive.ts';
import { sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { eventually } from '../support/eventually.ts';
import { closeScriptedWebs } from '../support/network/scriptedWeb.ts';
import { openTestNode, temporaryFolder } from '../support/node.ts';
import { addCopy, check, copyOf, drill, sync, withhold } from './withheldCopies.ts';

let place: string;
let data: string;
beforeEach(async () => {
  place = join(await temporaryFolder(), 'copy');
  data = join(await temporaryFolder(), 'data');
});
afterEach(async () => {
  await closeAll();
  await closeScriptedWebs();
});

/** The files of a folder with their digests. */
async function contents(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(
    await Promise.all(files.map(async (file) => [file, sha256Of(await readFile(file))])),
  );
}

const PASSPHRASE = 'correct horse battery';
const left = () => readdir(join(data, 'tmp'));

test('an archive with everything is restored from its copy, measured, and nothing is left or changed', async () => {
  const { node } = await filledArchive(data);
  const copy = await addCopy(node, place, { pages: false });
  expect(await copyOf(node)).toMatchObject({ last_drill: null, proven: null });
  await sync(node, copy);
  // It has a sealed finding, which nobody can read without the key.
  expect(await drill(node, copy)).toMatchObject({
    outcome: 'key_missing',
    sentence: expect.stringContaining('1 sealed finding is encrypted'),
  });
  const kept = await node.sendJson('PUT', `/manage/copies/${copy.id}/key`, { passphrase: PASSPHRASE });
  expect(kept.status).toBe(200);
  // What is sealed there cannot be opened without the key of this data folder.
  const own = join(data, 'withheld.key');
  await rename(own, `${own}-away`);
  expect(await drill(node, copy)).toMatchObject({
    outcome: 'key_missing',
    sentence: expect.stringContaining('withheld.key'),
  });
  await rename(`${own}-away`, own);
  const before = await contents(place);
  const head = (await (await node.fetch('/api/ledger?limit=1')).json()) as { total: number };
  const drilled = await drill(node, copy);
  expect(drilled).toMatchObject({
    outcome: 'restored',
    needed_bytes: null,
    sentence: expect.stringContaining(place),
  });
  const { restored } = drilled;
  expect(restored).toMatchObject({ entries: head.total, objects: expect.any(Number) });
  expect(restored?.objects).toBeGreaterThan(5);
  expect(restored?.records_per_second).toBeGreaterThan(0);
  expect(restored?.bytes_per_second).toBeGreaterThan(0);
  expect(restored?.full_restore_seconds).toBeGreaterThan(0);
  expect(restored?.all_bytes).toBe(restored?.bytes);
  expect(await copyOf(node)).toMatchObject({ last_drill: drilled, proven: drilled, last_error: null });
  expect(await left()).toEqual([]);
  expect(await contents(place)).toEqual(before);
  expect(((await (await node.fetch('/api/ledger?limit=1')).json()) as { total: number }).total).toBe(
    head.total,
  );
});

test('a damaged object, damaged records and a lost place are said and alerted once each, and repair is proven', async () => {
  const receiver = await WebhookReceiver.open();
  const alerting = await AlertingNode.open({ dataFolder: data });
  const { node } = alerting;
  await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one', 'b.txt': 'two' });
  await alerting.alert({ drill_failed: true }, [receiver.target]);
  const copy = await addCopy(node, place, { pages: false });
  await sync(node, copy);
  const object = join(place, 'archive', sha256Of('one'));
  await writeFile(object, 'eno');
  const damaged = await drill(node, copy);
  expect(damaged).toMatchObject({ outcome: 'damaged', restored: { objects: 1, all_objects: 2 } });
  expect(damaged.sentence).toContain(sha256Of('one'));
  expect(await drill(node, copy)).toMatchObject({ outcome: 'damaged' });
  // A drill repairs nothing; a check does.
  expect(await readFile(object, 'utf8')).toBe('eno');
  await check(node, copy);
  const proven = await drill(node, copy);
  expect(proven).toMatchObject({ outcome: 'restored' });
  const [records = ''] = await readdir(join(place, 'records'));
  const text = await readFile(join(place, 'records', records), 'utf8');
  await writeFile(join(place, 'records', records), text.replace('2026', '2025'));
  expect(await drill(node, copy)).toMatchObject({ outcome: 'damaged', restored: null });
  await rename(place, `${place}-elsewhere`);
  const lost = await drill(node, copy);
  expect(lost).toMatchObject({ outcome: 'unreachable', restored: null });
  expect(await copyOf(node)).toMatchObject({ last_drill: lost, proven });
  const sent = () => receiver.calls.flatMap((call) => dataOf(call).alerts);
  await eventually(() => expect(sent()).toHaveLength(3));
  expect(sent()[0]).toMatchObject({
    kind: 'drill_failed',
    text: damaged.sentence,
    link: `${node.url}/settings#copies`,
  });
  expect(sent()[2]?.text).toBe(lost.sentence);
  expect(existsSync(place)).toBe(false);
  expect(await left()).toEqual([]);
});

test('a copy that differs from its signed list, or has lost it, is damaged until it was checked', async () => {
  const node = await openTestNode({ dataFolder: data });
  await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one' });
  const copy = await addCopy(node, place, { pages: false });
  await sync(node, copy);
  const state = join(place, 'state/1.jsonl');
  await writeFile(state, (await readFile(state, 'utf8')).replace(/"made_at":"\d{4}/, '"made_at":"1999'));
  const altered = await drill(node, copy);
  expect(altered).toMatchObject({ outcome: 'damaged', restored: { objects: 1 } });
  expect(altered.sentence).toContain('1 file in');
  await check(node, copy);
  expect(await drill(node, copy)).toMatchObject({ outcome: 'restored' });
  await rm(join(place, 'files/list'));
  expect(await drill(node, copy)).toMatchObject({
    outcome: 'damaged',
    sentence: expect.stringContaining('has no signed list') as string,
  });
  await check(node, copy);
  expect(await drill(node, copy)).toMatchObject({ outcome: 'restored' });
});

test('a copy with pages is restored without what is withheld, and a damaged file of the key is said', async () => {
  const node = await openTestNode({ dataFolder: data });
  await uploadNewPack(node, sampleRecord(), { 'a.txt': 'secret', 'b.txt': 'two' });
  await withhold(node, { sha256: sha256Of('secret') });
  const copy = await addCopy(node, place);
  await sync(node, copy);
  expect(await drill(node, copy)).toMatchObject({
    outcome: 'restored',
    restored: { objects: 1, all_objects: 1 },
    sentence: expect.stringContaining('without 1 withheld object') as string,
  });
  const kept = await node.sendJson('PUT', `/manage/copies/${copy.id}/key`, { passphrase: PASSPHRASE });
  expect(kept.status).toBe(200);
  expect(await drill(node, copy)).toMatchObject({ outcome: 'restored' });
  await appendFile(join(place, 'key.age'), 'x');
  expect(await drill(node, copy)).toMatchObject({
    outcome: 'damaged',
    sentence: expect.stringContaining('key'),
  });
});

test('too little room is said with what would be needed', async () => {
  const node = await openTestNode({ dataFolder: data });
  await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one' });
  const copy = await addCopy(node, place, { pages: false });
  await sync(node, copy);
  await node.sendJson('PATCH', '/manage/settings', { min_free_disk_gb: 1_000_000 });
  const drilled = await drill(node, copy);
  expect(drilled).toMatchObject({ outcome: 'no_room', restored: null });
  expect(drilled.needed_bytes).toBeGreaterThan(16_000_000);
  expect(drilled.sentence).toMatch(/needs 1[67] MB .* 0 MB to spare/);
  expect(await left()).toEqual([]);

  // Others fill the disk after the drill has begun.
  await node.close();
  const { store, checkpoints } = await openArchive({ folder: data, clock: systemClock });
  const jobs = new Jobs(systemClock, store.randomHex);
  let looks = 0;
  const settings = () => ({ ...DEFAULT_SETTINGS, min_free_disk_gb: (looks += 1) === 1 ? 0 : 1_000_000 });
  const compare = () => Promise.reject(new Error('No page is made.'));
  const copies = new Copies({ store, checkpoints, compare, jobs, log: createLog('silent'), settings });
  const filled = await copies.drill(copy.id).finished;
  expect(filled).toMatchObject({ outcome: 'no_room', sentence: expect.stringContaining('filled up during') });
  expect(filled.needed_bytes).toBe(drilled.needed_bytes);
  expect(await left()).toEqual([]);
  copies.close();
  await jobs.close();
  await store.close();
});

test('a drill that the owner or a shutdown ends leaves nothing and is not counted', async () => {
  const node = await openTestNode({ dataFolder: data });
  await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one' });
  const copy = await addCopy(node, place, { pages: false });
  await sync(node, copy);
  const start = async (): Promise<string> => {
    const answer = await node.fetchAsOwner(`/manage/copies/${copy.id}/drill`, { method: 'POST' });
    expect(answer.status).toBe(202);
    await eventually(async () => expect(await left()).toHaveLength(1));
    return ((await answer.json()) as { id: string }).id;
  };
  const job = await start();
  expect((await node.fetchAsOwner(`/manage/jobs/${job}`, { method: 'DELETE' })).status).toBe(200);
  expect(await left()).toEqual([]);
  expect(await copyOf(node)).toMatchObject({ last_drill: null });
  await start();
  await node.close();
  expect(await left()).toEqual([]);
  const again = await openTestNode({ dataFolder: data });
  expect(await copyOf(again)).toMatchObject({ last_drill: null });
  expect(await drill(again, copy)).toMatchObject({ outcome: 'restored' });
});
