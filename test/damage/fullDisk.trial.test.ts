import { execFileSync } from 'node:child_process';
import { closeSync, openSync, writeSync } from 'node:fs';
import { readdir, rm, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Pack } from '../../shared/archive/pack.ts';
import { problemOf, sampleRecord, sha256Of, uploadNewPack, uploadPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { requireThat } from '../support/requirements.ts';

/* These tests mount a small disk. Only root on Linux can do that; `vitest.trials.config.ts` leaves them out elsewhere. */
let disk = '';
let isMounted = false;
let whyNot = '';
beforeAll(async () => {
  disk = await temporaryFolder();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', disk], { stdio: 'pipe' });
    isMounted = true;
  } catch (error) {
    whyNot = `Run this container with the right to mount file systems: ${String(error)}`;
  }
});
afterEach(async () => {
  await closeTestNodesOnly();
  if (isMounted) for (const name of await readdir(disk)) await rm(join(disk, name), { recursive: true });
});
afterAll(async () => {
  if (isMounted) execFileSync('umount', [disk]);
  await closeTestNodes();
});

const opened: TestNode[] = [];
async function closeTestNodesOnly(): Promise<void> {
  for (const node of opened.splice(0)) await node.close();
}

async function open(messages: string[] = []): Promise<TestNode> {
  const push = (_: object, message: string) => void messages.push(message);
  const log = { info: () => {}, warn: push, error: push };
  const node = await openTestNode({ dataFolder: join(disk, 'data'), log });
  opened.push(node);
  return node;
}

/** Lowers the reserve of free space to 0, because the disk is small. */
async function allowFullDisk(url: string, token: string): Promise<void> {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const body = JSON.stringify({ min_free_disk_gb: 0 });
  const changed = await fetch(new URL('/manage/settings', url), { method: 'PATCH', headers, body });
  expect(changed.status).toBe(200);
}

/** Fills the disk to the last byte, or to this many. */
async function fill(freeBytes = 0): Promise<void> {
  const descriptor = openSync(join(disk, 'filling'), 'w');
  try {
    for (let size = 1_048_576; size >= 1; size = Math.floor(size / 2)) writeUntilFull(descriptor, size);
  } finally {
    closeSync(descriptor);
  }
  const file = join(disk, 'filling');
  if (freeBytes > 0) await truncate(file, (await stat(file)).size - freeBytes);
}

function writeUntilFull(descriptor: number, size: number): void {
  const bytes = Buffer.alloc(size, 1);
  try {
    for (;;) if (writeSync(descriptor, bytes) < size) return;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
  }
}

/** Expects that even small writes are refused. */
async function expectRefused(node: TestNode): Promise<void> {
  const writes = [
    uploadPack(node, sampleRecord({ title: 'too much' }), { 'a.txt': 'more bytes' }),
    node.sendJson('POST', '/api/nodes', { path: 'more', title: 'More' }),
    node.sendJson('PATCH', '/manage/settings', { per_host_pause_ms: 5 }),
  ];
  for (const write of writes) expect(await problemOf(write)).toMatchObject({ status: 507 });
}

async function expectReadable(node: TestNode, pack: Pick<Pack, 'id'>, bytes: string): Promise<void> {
  for (const path of [
    '/api/packs',
    `/api/packs/${pack.id}`,
    '/api/ledger',
    '/api/ledger/checkpoint',
    '/api/status',
  ])
    expect([200, 503], path).toContain((await node.fetch(path)).status);
  expect(await (await node.fetch(`/api/blobs/${sha256Of(bytes)}`)).text()).toBe(bytes);
  expect(await (await node.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true });
  expect((await (await node.fetch('/api/dump.jsonl')).text()).trimEnd()).toMatch(/\{"kind":"trailer".*\}$/);
}

test('an archive on a completely full disk can be read but not written', async ({ skip }) => {
  requireThat(isMounted, whyNot, skip);
  const first = await open();
  await allowFullDisk(first.url, first.token);
  const pack = await uploadNewPack(first, {}, { 'a.txt': 'The bytes.' });
  await closeTestNodesOnly();
  await fill();
  const messages: string[] = [];
  const node = await open(messages);
  expect(messages).toContainEqual(expect.stringContaining('The disk is full: the archive can be read'));
  await expectReadable(node, pack, 'The bytes.');
  await expectRefused(node);
  await closeTestNodesOnly();

  const again = await open();
  await expectReadable(again, pack, 'The bytes.');
  await rm(join(disk, 'filling'));
  const added = await again.sendJson('POST', '/api/nodes', { path: 'more', title: 'More' });
  expect(added.status).toBe(201);
  await closeTestNodesOnly();
  expect(await readdir(join(disk, 'data'))).toContain('reserve');
});

test('a commit that does not fit on the disk is rolled back, and the next one is made', async ({ skip }) => {
  requireThat(isMounted, whyNot, skip);
  const node = await open();
  await allowFullDisk(node.url, node.token);
  await uploadNewPack(node, {}, { 'a.txt': 'The bytes.' });
  await fill(1_500_000);
  const path = 'a-long-name-'.repeat(18);
  const one = { sha256: sha256Of('The bytes.'), bytes: 10, media_type: 'text/plain' };
  const files = Array.from({ length: 4_000 }, (_, number) => ({ path: `${path}${number}.txt`, ...one }));
  const large = node.sendJson('POST', '/api/packs', sampleRecord({ title: 'Large', files }));
  expect(await problemOf(large)).toMatchObject({ status: 507, code: 'disk_nearly_full' });
  const small = await node.sendJson('POST', '/api/nodes', { path: 'small', title: 'Small' });
  expect(small.status).toBe(201);
  expect(await (await node.fetch('/api/packs')).json()).toMatchObject({ total: 1 });
  expect(await (await node.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true });
});
