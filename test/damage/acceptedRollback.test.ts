import { cp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { KeyChange } from '../../shared/ledger/ledger.ts';
import { uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { blobFiles, copyOf, type KilledArchive, keyOf, killedArchive, type List, run } from './support.ts';

let archive: KilledArchive;
beforeAll(async () => {
  archive = await killedArchive({ isSigned: true });
});
afterAll(closeTestNodes);

async function withoutLog(): Promise<string> {
  const folder = await copyOf(archive.folder);
  await rm(join(folder, 'strongroom.db-wal'));
  return folder;
}

/** The names of all blobs, including those in lost-and-found/. */
async function allBlobs(folder: string): Promise<string[]> {
  const lost: string[] = await readdir(join(folder, 'lost-and-found')).catch(() => []);
  return [...(await blobFiles(folder)).map((file) => basename(file)), ...lost].sort();
}

async function changesOf(node: TestNode): Promise<KeyChange[]> {
  return ((await (await node.fetch('/api/ledger/keys')).json()) as List<KeyChange>).items;
}

test('an accepted rollback gets a new key and an entry with both heads, and deletes no blob', async () => {
  const folder = await withoutLog();
  const blobs = await blobFiles(folder);
  const oldKey = await keyOf(folder);
  const accepted = await run('key', '--accept-rollback', '--data', folder);
  expect(accepted.code, accepted.output).toBe(0);
  expect(accepted.output).toContain('reached entry 2 before; the archive continues after entry 1');
  expect(accepted.output).toContain('What was withheld or released after that entry no longer is.');
  const newKey = await keyOf(folder);
  expect(newKey.split('+')[0]).toBe(oldKey.split('+')[0]);
  expect(newKey).not.toBe(oldKey);

  const node = await openTestNode({ dataFolder: folder });
  const [change, ...none] = await changesOf(node);
  expect(none).toEqual([]);
  expect(change).toMatchObject({
    type: 'ledger.rolled_back',
    ledger_entry: 2,
    from: { seq: 2, hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string },
    to: { seq: 1, hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string },
    old_key: oldKey,
    new_key: newKey,
  });
  expect(await (await node.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true, size: 2 });
  const { head } = (await (await node.fetch('/api/ledger')).json()) as { head: { hash: string } };
  expect(head.hash).not.toBe(change?.type === 'ledger.rolled_back' && change.from.hash);
  expect(await allBlobs(folder)).toEqual(blobs.map((file) => basename(file)).sort());
  await uploadNewPack(node, { title: 'after' });
  await node.close();
  const again = await openTestNode({ dataFolder: folder });
  expect(await (await again.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true, size: 3 });
});

test('the checkpoint, the head and the log are copied as evidence, and the old key is kept under another name', async () => {
  const folder = await copyOf(archive.folder);
  await cp(archive.olderDatabase, join(folder, 'strongroom.db'));
  await rm(join(folder, 'strongroom.db-wal'));
  await writeFile(join(folder, 'strongroom.db-wal'), 'what is left of a log');
  const checkpoint = await readFile(join(folder, 'checkpoint'), 'utf8');
  const oldKey = await readFile(join(folder, 'key'), 'utf8');
  expect((await run('key', '--accept-rollback', '--data', folder)).code).toBe(0);
  const [evidence = ''] = await readdir(join(folder, 'rolled-back'));
  const inEvidence = (name: string) => readFile(join(folder, 'rolled-back', evidence, name), 'utf8');
  expect(await inEvidence('checkpoint')).toBe(checkpoint);
  expect(await inEvidence('head')).toMatch(/^strongroom-head-1 /);
  expect(await inEvidence('strongroom.db-wal')).toBe('what is left of a log');
  const retired = (await readdir(folder)).filter((name) => name.startsWith('key.'));
  expect(retired).toEqual([expect.stringMatching(/^key\.retired-[0-9a-f]{8}$/)]);
  expect(await readFile(join(folder, retired[0] ?? ''), 'utf8')).toBe(oldKey);
  expect((await stat(join(folder, retired[0] ?? ''))).mode & 0o777).toBe(0o600);
});

test('comparing a checkpoint by an earlier key names the key and the entry that replaced it', async () => {
  const folder = await withoutLog();
  await run('key', '--accept-rollback', '--data', folder);
  const file = join(await temporaryFolder(), 'old.checkpoint');
  await writeFile(file, archive.checkpoint ?? '');
  const { code, output } = await run('ledger', 'verify', '--data', folder, '--checkpoint', file);
  expect(code).toBe(1);
  expect(output).toMatch(
    /the ledger was rewritten\. It was signed by the key .*, which entry 2 replaced when the ledger was rolled back from entry 2 to entry 1\./,
  );
});

test('an archive opens after a crash right after the rollback was recorded', async () => {
  const folder = await withoutLog();
  const before = await copyOf(folder);
  await run('key', '--accept-rollback', '--data', folder);
  // The state before the new head, checkpoint and key were written.
  for (const name of ['head', 'checkpoint']) await cp(join(before, name), join(folder, name));
  await cp(join(folder, 'key'), join(folder, 'key.next'));
  await cp(join(before, 'key'), join(folder, 'key'));
  const newKey = await keyOf(folder);
  const node = await openTestNode({ dataFolder: folder });
  expect((await (await node.fetch('/api/ledger/key')).text()).trim()).toBe(newKey);
  expect(await (await node.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true, size: 2 });
  expect((await readdir(folder)).filter((name) => name === 'key.next')).toEqual([]);
});

test('accepting a rollback of an intact archive changes nothing', async () => {
  const folder = await copyOf(archive.folder);
  const key = await keyOf(folder);
  const { code, output } = await run('key', '--accept-rollback', '--data', folder);
  expect([code, output]).toEqual([0, expect.stringContaining('nothing to accept')]);
  expect(await keyOf(folder)).toBe(key);
});
