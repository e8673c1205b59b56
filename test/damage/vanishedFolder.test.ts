import { once } from 'node:events';
import { cp, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { DraftContents } from '../../server/archive/drafts/draftFiles.ts';
import type { NodeConfig } from '../../server/config.ts';
import { LostAndFound } from '../../server/store/blobs/lostAndFound.ts';
import { writeFileDurably } from '../../server/store/files.ts';
import { FolderPresence } from '../../server/store/opening/folderLock.ts';
import { openStore } from '../../server/store/store.ts';
import type { Job } from '../../shared/node/job.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { CollectingNode } from '../collection/support.ts';
import { problemOf, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { eventually } from '../support/eventually.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeAlteredNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';

afterEach(async () => {
  await closeAlteredNodes();
  await closeScriptedWebs();
});

/** A node that looks for its folder all the time, in a folder of its own that stands for the disk. */
async function openOnDisk(config: Partial<NodeConfig> = {}) {
  const disk = join(await temporaryFolder(), 'disk');
  await mkdir(disk);
  const messages: string[] = [];
  const keep = (_: object, message: string) => void messages.push(message);
  const log = { info: () => {}, warn: keep, error: keep };
  const node = await openTestNode({ dataFolder: join(disk, 'data'), lookEveryMs: 5, log, ...config });
  return { disk, node, messages };
}

const statusOf = async (node: TestNode, path: string) => (await node.fetch(path)).status;
const addSubject = (node: TestNode, path: string) =>
  node.sendJson('POST', '/api/nodes', { path, title: path });
const AWAY = { status: 503, code: 'data_folder_away' };

test('a node whose folder vanishes says so at once, writes nothing, and goes on when it is back', async () => {
  const { disk, node, messages } = await openOnDisk();
  const pack = await uploadNewPack(node, {}, { 'a.txt': 'The bytes.' });
  const head = await (await node.fetch('/api/ledger/checkpoint')).text();
  const counts: number[] = [];
  const told: boolean[] = [];
  node.onAway((isAway) => told.push(isAway));
  node.onUnseen((count) => counts.push(count));
  await eventually(() => expect(counts).toHaveLength(1));

  await rename(disk, `${disk}-away`);
  for (const path of ['/api/packs', '/api/status', `/api/blobs/${sha256Of('The bytes.')}`])
    expect(await problemOf(node.fetch(path)), path).toMatchObject(AWAY);
  expect(await problemOf(addSubject(node, 'refused'))).toMatchObject(AWAY);
  expect(await (await node.fetch('/api/health')).json()).toEqual({ status: 'up' });
  const shown = await fetch(node.url, { headers: { Accept: 'text/html' } });
  expect([shown.status, shown.headers.get('Content-Security-Policy')]).toEqual([
    503,
    expect.stringContaining("default-src 'none'"),
  ]);
  expect(await shown.text()).toContain('The disk of the archive cannot be reached');
  await eventually(() =>
    expect(messages).toContainEqual(expect.stringContaining('The data folder is gone.')),
  );
  expect(await problemOf(addSubject(node, 'refused'))).toMatchObject(AWAY);
  await expect(readdir(disk), 'nothing is created in its place').rejects.toThrow('ENOENT');

  await rename(`${disk}-away`, disk);
  await eventually(async () => expect(await statusOf(node, `/api/packs/${pack.id}`)).toBe(200));
  expect(await (await node.fetch('/api/ledger/checkpoint')).text()).toBe(head);
  expect((await addSubject(node, 'later')).status).toBe(201);
  expect(await (await node.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true });
  expect(await (await node.fetch(`/api/packs/${pack.id}/verify`)).json()).toMatchObject({ ok: true });
  expect(await statusOf(node, '/api/nodes/refused')).toBe(404);
  expect((await fetch(node.createSignInLink(), { redirect: 'manual' })).status).toBe(303);
  await eventually(() => expect(counts).toHaveLength(2));
  expect(told).toEqual([true, false]);
});

test('a round that the owner asked for runs when the folder is back, and no source is blamed', async () => {
  const web = await ScriptedWeb.open();
  const { disk, node, messages } = await openOnDisk();
  const collecting = new CollectingNode(node);
  await collecting.set({ per_host_pause_ms: 0, unavailable_after_failures: 1 });
  web.script('/page', page('one'), () => {}, page('two'));
  const { id } = await collecting.watch(web.url('/page'));
  await collecting.check();
  const asked = await node.sendJson('POST', '/manage/collections', {});
  expect(asked.status).toBe(202);
  await web.asked('/page', 2);
  await rename(disk, `${disk}-away`);
  await eventually(() => expect(messages).toContainEqual(expect.stringContaining('is gone')));
  await rename(`${disk}-away`, disk);
  const jobs = async () =>
    ((await (await node.fetchAsOwner('/manage/jobs')).json()) as { items?: Job[] }).items ?? [];
  await eventually(async () =>
    expect((await jobs()).map(({ state }) => state).sort()).toEqual(['cancelled', 'done', 'done']),
  );
  expect(await jobs()).toContainEqual(
    expect.objectContaining({ id: ((await asked.json()) as Job).id, state: 'cancelled' }),
  );
  expect(await collecting.source(id)).toMatchObject({ state: 'available', consecutive_failures: 0 });
  expect(await collecting.timeline()).toEqual(['first_seen', 'changed']);
});

test('nothing is created in place of a folder that is gone', async () => {
  const folder = join(await temporaryFolder(), 'data');
  const store = await openStore({ folder, clock: systemClock });
  // SQLite opens its files at the first use.
  await store.write(() => undefined);
  const staged = await store.blobs.staging.stage([Buffer.from('The bytes.')], 10);
  const file = await store.blobs.staging.stageFile([Buffer.from('More bytes.')], 20);
  await rename(folder, `${folder}-away`);
  await expect(staged.keep()).rejects.toThrow('ENOENT');
  await expect(writeFileDurably(join(folder, 'key'), 'a new key', 0o600)).rejects.toThrow('ENOENT');
  const drafts = new DraftContents(folder);
  await expect(drafts.place('draft', file)).rejects.toThrow('ENOENT');
  expect(await new LostAndFound(folder).put(sha256Of('The bytes.'))).toBe(false);
  await expect(store.write(() => undefined)).rejects.toMatchObject({ code: 'data_folder_away' });
  await expect(readdir(folder)).rejects.toThrow('ENOENT');
  await rename(`${folder}-away`, folder);
  await expect(
    store.write(() => undefined),
    'until it is opened again',
  ).rejects.toMatchObject({
    code: 'data_folder_away',
  });
  await store.close();
});

test('an upload from before the folder vanished leaves those from after it alone', async () => {
  const folder = join(await temporaryFolder(), 'data');
  const large = Buffer.alloc(1_000_000, 'a');
  const before = await openStore({ folder, clock: systemClock });
  const left = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const old = before.blobs.staging.stage(
    (async function* () {
      yield large;
      begun.resolve();
      await left.promise;
      throw new Error('The client went away.');
    })(),
    3_000_000,
  );
  await begun.promise;
  await before.close();
  const after = await openStore({ folder, clock: systemClock });
  const staged = await after.blobs.staging.stage([large], large.length);
  left.resolve();
  await expect(old).rejects.toThrow();
  await staged.keep();
  expect(await after.blobs.bytesOf(staged.sha256)).toBe(large.length);
  await staged.discard();
  await after.close();
});

/** Without the files that SQLite makes for a moment while it reads. */
const namesIn = async (folder: string) =>
  (await readdir(folder)).filter((name) => !/-(shm|wal)$/.test(name)).sort();

test('neither an older copy of the archive nor another one is taken for it', async () => {
  const { disk, node, messages } = await openOnDisk();
  const first = await openTestNode();
  for (const path of ['foreign', 'another']) await addSubject(first, path);
  await first.close();
  await addSubject(node, 'first');
  await cp(node.dataFolder, `${disk}-older`, { recursive: true });
  await addSubject(node, 'second');

  await rename(disk, `${disk}-away`);
  await eventually(() => expect(messages).toContainEqual(expect.stringContaining('is gone')));
  for (const other of [`${disk}-older`, first.dataFolder]) {
    messages.length = 0;
    await mkdir(`${disk}-other`);
    await cp(other, join(`${disk}-other`, 'data'), { recursive: true });
    const names = await namesIn(join(`${disk}-other`, 'data'));
    await rename(`${disk}-other`, disk);
    await eventually(() => expect(messages).toContainEqual(expect.stringContaining('cannot be opened')));
    expect(await problemOf(node.fetch('/api/nodes/first'))).toMatchObject(AWAY);
    expect(await namesIn(node.dataFolder)).toEqual(names);
    await rename(disk, `${disk}-other`);
    await rm(`${disk}-other`, { recursive: true });
  }
  await rename(`${disk}-away`, disk);
  await eventually(async () => expect(await statusOf(node, '/api/nodes/second')).toBe(200));
});

test('a node that is closed while its folder is away leaves it as it was', async () => {
  const { disk, node, messages } = await openOnDisk();
  expect((await addSubject(node, 'kept')).status).toBe(201);
  await rename(disk, `${disk}-away`);
  await eventually(() => expect(messages).toContainEqual(expect.stringContaining('is gone')));
  await node.close();
  await rename(`${disk}-away`, disk);
  const again = await openTestNode({ dataFolder: node.dataFolder });
  expect(await statusOf(again, '/api/nodes/kept')).toBe(200);
});

test('an archive that vanishes while it is opened again is neither replaced by a new one nor taken to be there', async () => {
  const folder = join(await temporaryFolder(), 'data');
  const open = { folder, clock: systemClock, mustExist: true };
  await expect(openStore(open)).rejects.toThrow('does not exist');
  await expect(readdir(folder)).rejects.toThrow('ENOENT');
  // The folder to which the disk is attached.
  await mkdir(folder);
  await expect(openStore(open)).rejects.toThrow('There is no database');
  expect(await readdir(folder)).toEqual(['lock']);
  expect(new FolderPresence(folder).isAway).toBe(true);
});

test('a request that was running says that the disk is away, and not that nothing was changed', async () => {
  const { disk, node, messages } = await openOnDisk();
  const body = new TransformStream<Uint8Array, Uint8Array>();
  const writer = body.writable.getWriter();
  const init = {
    method: 'POST',
    headers: { Authorization: `Bearer ${node.token}`, 'Content-Type': 'application/json' },
    body: body.readable,
    duplex: 'half',
  };
  const sent = fetch(`${node.url}/manage/deposits`, init);
  const text = JSON.stringify({ pack: 'pk_00000000000000000000', repository: 're_00000000000000000000' });
  await writer.write(Buffer.from(text.slice(0, 10)));
  await node.fetch('/api/health');
  await rename(disk, `${disk}-away`);
  await eventually(() => expect(messages).toContainEqual(expect.stringContaining('is gone')));
  await writer.write(Buffer.from(text.slice(10)));
  await writer.close();
  expect(await problemOf(sent)).toMatchObject(AWAY);
  expect(messages).not.toContainEqual(expect.stringContaining('An internal error'));
});

test('a code that signed in does not sign in again when the folder is back', async () => {
  const signInCode = 'c0de'.repeat(8);
  const { disk, node, messages } = await openOnDisk({ signInCode });
  const signIn = () => fetch(`${node.url}/sign-in/${signInCode}`, { redirect: 'manual' });
  expect((await signIn()).status).toBe(303);
  await rename(disk, `${disk}-away`);
  await eventually(() => expect(messages).toContainEqual(expect.stringContaining('is gone')));
  await rename(`${disk}-away`, disk);
  await eventually(() => expect(messages).toContainEqual(expect.stringContaining('The node goes on')));
  expect((await signIn()).status).toBe(403);
});

test('a listener that fails keeps the archive neither open nor away', async () => {
  const { disk, node, messages } = await openOnDisk();
  node.onAway(() => {
    throw new Error('The tray is gone.');
  });
  await rename(disk, `${disk}-away`);
  await eventually(() => expect(messages).toContainEqual(expect.stringContaining('is gone')));
  await rename(`${disk}-away`, disk);
  await eventually(async () => expect(await statusOf(node, '/api/packs')).toBe(200));
  expect(messages).not.toContainEqual(expect.stringContaining('cannot be opened'));
});

test('an upload that stands still does not keep the node from coming back', async () => {
  const { disk, node, messages } = await openOnDisk();
  const { id } = (await (await node.sendJson('POST', '/manage/drafts', {})).json()) as { id: string };
  const { port } = new URL(node.url);
  const upload = connect(Number(port), '127.0.0.1');
  const closed = once(upload, 'close');
  upload.on('error', () => {});
  upload.write(
    `PUT /manage/drafts/${id}/files?path=b.bin HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${node.token}\r\nContent-Type: application/octet-stream\r\nContent-Length: 2000000\r\n\r\n`,
  );
  upload.write(Buffer.alloc(1_000_000));
  await eventually(async () => expect(await readdir(join(node.dataFolder, 'tmp'))).toHaveLength(1));
  await rename(disk, `${disk}-away`);
  await eventually(() => expect(messages).toContainEqual(expect.stringContaining('is gone')));
  const since = performance.now();
  await rename(`${disk}-away`, disk);
  await closed;
  await eventually(async () => expect(await statusOf(node, '/api/packs')).toBe(200));
  expect(performance.now() - since).toBeLessThan(8_000);
});
