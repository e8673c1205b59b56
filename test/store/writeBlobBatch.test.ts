import { existsSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { syncFolder } from '../../server/store/blobs/durableFile.ts';
import { blobPath } from '../../server/store/blobs/paths.ts';
import { ShardFolders } from '../../server/store/blobs/shardFolders.ts';
import { type BlobWrite, type SyncFile, writeBlobBatch } from '../../server/store/blobs/writeBlobBatch.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import { sha256Of } from '../support/packs.ts';

afterEach(closeTestNodes);

const LOST = new Error('The disk is gone.');

/** A data folder, and the syncs of its folders in their order. */
async function openDisk() {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'tmp'));
  await mkdir(join(folder, 'blobs'));
  const syncs: string[] = [];
  const failing = new Set<string>();
  const folders = new ShardFolders(async (path) => {
    syncs.push(`sync ${relative(folder, path)}/`);
    if (failing.has(path)) throw LOST;
    await syncFolder(path);
  });
  /** The write of a small blob. */
  const blobOf = (content: string): BlobWrite => ({
    file: join(folder, 'tmp', content),
    bytes: Buffer.from(content),
    target: blobPath(folder, sha256Of(content)),
  });
  return { folder, syncs, failing, folders, blobOf };
}

const shardOf = ({ target }: BlobWrite) => dirname(target);

test('all files are synced before the first rename, and all renames come before the first sync of a folder', async () => {
  const { syncs, folders, blobOf } = await openDisk();
  const batch = [blobOf('one'), blobOf('two'), blobOf('three')];
  const renamed = () => batch.filter(({ target }) => existsSync(target)).length;
  const states: string[] = [];
  const syncFile: SyncFile = async () =>
    void states.push(`${renamed()} renamed, ${syncs.length} folders synced`);
  const watched = new ShardFolders(async (path) => {
    states.push(`${renamed()} renamed, syncing ${basename(path)}`);
    await syncFolder(path);
  });
  expect(await writeBlobBatch(batch, watched, syncFile)).toEqual([undefined, undefined, undefined]);
  expect(states.slice(0, 3)).toEqual(Array(3).fill('0 renamed, 0 folders synced'));
  expect(states.slice(3).every((state) => state.startsWith('3 renamed, syncing'))).toBe(true);
  for (const { target } of batch) expect(sha256Of(await readFile(target))).toBe(basename(target));
  // The shards exist now.
  expect(await writeBlobBatch([blobOf('one')], folders)).toEqual([undefined]);
});

test('a new shard is synced with its parents once, and alone after that', async () => {
  const { syncs, folders, blobOf } = await openDisk();
  const one = blobOf('one');
  await writeBlobBatch([one, blobOf('one again')], folders);
  const [shard, above] = [sha256Of('one').slice(0, 4), sha256Of('one').slice(0, 2)].map((name) =>
    name.length === 4 ? `blobs/${name.slice(0, 2)}/${name.slice(2)}/` : `blobs/${name}/`,
  );
  expect(syncs).toEqual(expect.arrayContaining([`sync ${shard}`, `sync ${above}`, 'sync blobs/']));
  expect(syncs.filter((call) => call === 'sync blobs/')).toHaveLength(1);
  syncs.length = 0;
  await writeBlobBatch([one], folders);
  expect(syncs).toEqual([`sync ${shard}`]);
});

test('a shard that was removed is created and synced again with its parents', async () => {
  const { syncs, folder, folders, blobOf } = await openDisk();
  const one = blobOf('one');
  await writeBlobBatch([one], folders);
  await rm(dirname(shardOf(one)), { recursive: true });
  syncs.length = 0;
  expect(await writeBlobBatch([one], folders)).toEqual([undefined]);
  const shard = relative(folder, shardOf(one));
  expect(syncs.sort()).toEqual(['sync blobs/', `sync ${dirname(shard)}/`, `sync ${shard}/`]);
});

test('a file that cannot be synced is not kept; the others of its batch are', async () => {
  const { folder, folders, blobOf } = await openDisk();
  const batch = [blobOf('one'), blobOf('two'), blobOf('three')];
  let call = 0;
  const syncFile: SyncFile = async () => {
    call += 1;
    if (call === 2) throw LOST;
  };
  expect(await writeBlobBatch(batch, folders, syncFile)).toEqual([undefined, LOST, undefined]);
  expect(batch.map(({ target }) => existsSync(target))).toEqual([true, false, true]);
  expect(await readdir(join(folder, 'tmp'))).toEqual(['two']);
});

test('a failed rename refuses only its own blob', async () => {
  const { folders, blobOf } = await openDisk();
  const [one, two] = [blobOf('one'), blobOf('two')];
  // A file is in place of the shard.
  await mkdir(dirname(shardOf(one)), { recursive: true });
  writeFileSync(shardOf(one), '');
  const [refused, kept] = await writeBlobBatch([one, two], folders);
  expect(refused).toMatchObject({ code: 'EEXIST' });
  expect(kept).toBeUndefined();
  expect(existsSync(two.target)).toBe(true);
});

test('a folder that cannot be synced fails its blobs, and is synced with its parents the next time', async () => {
  const { syncs, failing, folders, blobOf } = await openDisk();
  const [one, two] = [blobOf('one'), blobOf('two')];
  failing.add(dirname(shardOf(one)));
  expect(await writeBlobBatch([one, two], folders)).toEqual([LOST, undefined]);
  failing.clear();
  syncs.length = 0;
  expect(await writeBlobBatch([one], folders)).toEqual([undefined]);
  expect(syncs).toHaveLength(3);
});
