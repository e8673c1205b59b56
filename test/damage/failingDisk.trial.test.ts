import { createHash } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { packForm, problemOf, sampleRecord, sha256Of } from '../support/archive/packs.ts';
import { ControlledDisk, closeControlledDisks } from '../support/disk/controlledDisk.ts';
import { eventually } from '../support/eventually.ts';
import { closeTestNodes } from '../support/node.ts';

/** Every test runs a node in its own process, and its calls of the file system are watched or stopped. */
afterEach(async () => {
  await closeControlledDisks();
  await closeTestNodes();
});

const LOG_SYNC = 'sync strongroom.db-wal';

const createNode = (disk: ControlledDisk, path: string) =>
  disk.send('POST', '/api/nodes', { path, title: path });
const statusOf = async (disk: ControlledDisk, path: string) =>
  (await disk.send('GET', `/api/nodes/${path}`)).status;

/** Returns the number of the ledger's entries. */
const entries = async (disk: ControlledDisk) =>
  ((await (await disk.send('GET', '/api/ledger?limit=1')).json()) as { total: number }).total;

/** Creates tree nodes one after another. */
async function createNodes(disk: ControlledDisk, name: string, count: number): Promise<void> {
  for (let number = 0; number < count; number += 1)
    expect((await createNode(disk, `${name}${number}`)).status).toBe(201);
}

/** Starts a node that has made its first commits. */
async function serveDisk(): Promise<ControlledDisk> {
  const disk = await ControlledDisk.serve();
  await createNodes(disk, 'first', 3);
  await disk.forget();
  return disk;
}

/** Sends a request. `isAnswered` says whether its response has arrived. */
function pending(sent: Promise<Response>) {
  const request = { response: sent, isAnswered: false };
  sent.then(
    () => (request.isAnswered = true),
    () => {},
  );
  return request;
}

describe('a commit', () => {
  test('is neither answered nor visible before it is on stable storage', async () => {
    const disk = await serveDisk();
    const checkpoint = async () => (await disk.send('GET', '/api/ledger/checkpoint')).text();
    const before = await checkpoint();
    await disk.rule({ call: 'sync', path: '-wal', passes: 0 });
    const change = pending(createNode(disk, 'held'));
    await disk.begun(LOG_SYNC);
    expect(await statusOf(disk, 'held')).toBe(404);
    expect(await checkpoint()).toBe(before);
    expect(change.isAnswered).toBe(false);
    await disk.endRule();
    expect((await change.response).status).toBe(201);
    expect(await statusOf(disk, 'held')).toBe(200);
    expect(await checkpoint()).not.toBe(before);
  });

  test('does not include a change that arrives during its sync', async () => {
    const disk = await serveDisk();
    await disk.rule({ call: 'sync', path: '-wal', passes: 0 });
    const first = pending(createNode(disk, 'one'));
    await disk.begun(LOG_SYNC);
    const second = pending(createNode(disk, 'two'));
    await disk.rule({ call: 'sync', path: '-wal', passes: 1 });
    expect((await first.response).status).toBe(201);
    await disk.begun(LOG_SYNC, 2);
    expect(await statusOf(disk, 'one')).toBe(200);
    expect(await statusOf(disk, 'two')).toBe(404);
    expect(second.isAnswered).toBe(false);
    await disk.endRule();
    expect((await second.response).status).toBe(201);
  });

  test('whose sync failed is neither acknowledged nor visible, and nothing is written until a restart', async () => {
    const disk = await serveDisk();
    await disk.rule({ call: 'sync', path: '-wal', code: 'EIO' });
    expect(await problemOf(createNode(disk, 'lost'))).toMatchObject({ status: 503, code: 'storage_failed' });
    expect(await statusOf(disk, 'lost')).toBe(404);
    await disk.endRule();
    expect(await problemOf(createNode(disk, 'late'))).toMatchObject({ status: 503, code: 'storage_failed' });
    expect(await statusOf(disk, 'first0')).toBe(200);
    await disk.kill();
    await disk.start();
    expect(await statusOf(disk, 'first0')).toBe(200);
    expect(await statusOf(disk, 'late')).toBe(404);
    expect((await createNode(disk, 'after')).status).toBe(201);
  });

  test('that fails on a disk that takes no writes any more closes the archive until it does', async () => {
    const disk = await serveDisk();
    await disk.rule({ call: 'sync', path: '', code: 'EIO' });
    const refused = await problemOf(createNode(disk, 'refused'));
    expect(['storage_failed', 'data_folder_away']).toContain(refused.code);
    const read = () => disk.send('GET', '/api/nodes/first0');
    await eventually(async () => expect((await read()).status).toBe(503));
    expect(await problemOf(read())).toMatchObject({ code: 'data_folder_away' });
    await disk.endRule();
    await eventually(async () => expect((await read()).status).toBe(200));
    expect((await createNode(disk, 'later')).status).toBe(201);
    expect(await (await disk.send('GET', '/api/ledger/verify')).json()).toMatchObject({ ok: true });
  });

  test('is synced once, and a refused change leaves no trace', async () => {
    const disk = await serveDisk();
    await createNodes(disk, 'more', 50);
    expect((await disk.calls()).filter((call) => call === LOG_SYNC)).toHaveLength(50);
    expect(await problemOf(createNode(disk, 'more0'))).toMatchObject({ status: 409 });
    expect(await entries(disk)).toBe(53);
  });
});

describe('the blobs of a pack', () => {
  /** Longer than what is staged in memory. */
  const LONG = 100_000;
  const start = createHash('sha256').update('x'.repeat(LONG));

  /** Returns a long text, whose digest may have to start like that of another. */
  function longText(number: number, isFitting: (sha256: string) => boolean = () => true): string {
    for (let tried = number; ; tried += 1)
      if (isFitting(start.copy().update(`${tried}`).digest('hex'))) return `${'x'.repeat(LONG)}${tried}`;
  }
  const pathOf = (text: string) => {
    const sha256 = sha256Of(text);
    return `blobs/${sha256.slice(0, 2)}/${sha256.slice(2, 4)}/${sha256}`;
  };
  const upload = (disk: ControlledDisk, title: string, ...texts: string[]) =>
    disk.send(
      'POST',
      '/api/packs',
      packForm(
        sampleRecord({ title }),
        Object.fromEntries(texts.map((text, number) => [`${number}.txt`, text])),
      ),
    );
  /** Returns the renames and syncs of blobs and their folders. */
  const blobCalls = async (disk: ControlledDisk) =>
    (await disk.calls()).filter((call) => / (tmp\/|blobs)/.test(call));
  const sortedFolderSyncs = async (disk: ControlledDisk) =>
    (await blobCalls(disk)).filter((call) => /^sync blobs(\/..)*$/.test(call)).toSorted();

  test('are synced before the first rename, and all are renamed before the first sync of a folder', async () => {
    const disk = await ControlledDisk.serve();
    await disk.forget();
    const texts = [1, 2, 3].map((number) => longText(number));
    expect((await upload(disk, 'three', ...texts)).status).toBe(201);
    const calls = await blobCalls(disk);
    expect(calls.slice(0, 3).every((call) => call.startsWith('sync tmp/'))).toBe(true);
    expect(calls.slice(3, 6).toSorted()).toEqual(texts.map((text) => `rename ${pathOf(text)}`).toSorted());
    expect(calls.slice(6).toSorted()).toEqual(await sortedFolderSyncs(disk));
    for (const text of texts)
      expect(await (await disk.send('GET', `/api/blobs/${sha256Of(text)}`)).text()).toBe(text);
  });

  test('anchor a new folder in its parents once, and again if it was removed', async () => {
    const disk = await ControlledDisk.serve();
    const one = longText(1);
    const shard = dirname(pathOf(one));
    const inSame = (other: string) => shard === `blobs/${other.slice(0, 2)}/${other.slice(2, 4)}`;
    const two = longText(2, inSame);
    await disk.forget();
    expect((await upload(disk, 'one', one)).status).toBe(201);
    const anchored = ['sync blobs', `sync ${dirname(shard)}`, `sync ${shard}`];
    expect(await sortedFolderSyncs(disk)).toEqual(anchored);
    await disk.forget();
    expect((await upload(disk, 'two', two)).status).toBe(201);
    expect(await sortedFolderSyncs(disk)).toEqual([`sync ${shard}`]);
    await rm(join(disk.dataFolder, dirname(shard)), { recursive: true });
    await disk.forget();
    expect((await upload(disk, 'one again', one)).status).toBe(201);
    expect(await sortedFolderSyncs(disk)).toEqual(anchored);
  });

  test('are refused if a file cannot be synced; another upload is accepted', async () => {
    const disk = await ControlledDisk.serve();
    await upload(disk, 'first', longText(1));
    const [temporary = ''] = (await disk.calls()).filter((call) => call.startsWith('sync tmp/'));
    const next = `tmp/${Number(temporary.slice('sync tmp/'.length)) + 1}`;
    await disk.rule({ call: 'sync', path: next, code: 'EIO' });
    expect(await problemOf(upload(disk, 'refused', longText(2)))).toMatchObject({ code: 'storage_failed' });
    expect((await upload(disk, 'accepted', longText(3))).status).toBe(201);
    expect((await disk.send('GET', `/api/blobs/${sha256Of(longText(2))}`)).status).toBe(404);
    expect(await readdir(join(disk.dataFolder, 'tmp'))).toEqual([]);
  });

  test('are refused if their folder cannot be synced, which is synced with its parents the next time', async () => {
    const disk = await ControlledDisk.serve();
    const [one, two] = [longText(1), longText(2)];
    const shard = dirname(pathOf(one));
    await disk.rule({ call: 'sync', path: shard, code: 'EIO' });
    const [refused, accepted] = await Promise.all([upload(disk, 'one', one), upload(disk, 'two', two)]);
    expect(await problemOf(refused as Response)).toMatchObject({ status: 503, code: 'storage_failed' });
    expect(accepted?.status).toBe(201);
    await disk.endRule();
    await disk.forget();
    expect((await upload(disk, 'one', one)).status).toBe(201);
    expect(await sortedFolderSyncs(disk)).toHaveLength(3);
  });
});

test('a disk that cannot say how much space is free leads to a problem that says why, and to nothing written', async () => {
  const disk = await ControlledDisk.serve();
  for (const [fault, status, code] of [
    ['EIO', 503, 'storage_failed'],
    ['ENOSPC', 507, 'disk_nearly_full'],
    ['EDQUOT', 507, 'disk_nearly_full'],
    ['EBADF', 500, 'internal_error'],
  ] as const) {
    await disk.rule({ call: 'statfs', path: '', code: fault });
    const problem = await problemOf(createNode(disk, `refused-${fault}`));
    expect(problem, fault).toMatchObject({ status, code });
    expect(JSON.stringify(problem), fault).not.toContain('reported by the disk');
  }
  await disk.endRule();
  expect((await createNode(disk, 'accepted')).status).toBe(201);
  expect(await entries(disk)).toBe(1);
});
