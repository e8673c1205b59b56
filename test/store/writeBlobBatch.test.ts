import { existsSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { syncFolder } from '../../server/store/blobs/durableFile.ts';
import { blobPath } from '../../server/store/blobs/paths.ts';
import { ShardFolders } from '../../server/store/blobs/shardFolders.ts';
import { type Keeping, type SyncFile, writeBlobBatch } from '../../server/store/blobs/writeBlobBatch.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import { sha256Of } from '../support/packs.ts';

afterEach(closeTestNodes);

const LOST = new Error('The disk is gone.');

/** A data folder, and what its disk is asked in the order in which it is asked. */
async function openDisk() {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'tmp'));
  await mkdir(join(folder, 'blobs'));
  const asked: string[] = [];
  const failing = new Set<string>();
  const folders = new ShardFolders(async (path) => {
    asked.push(`sync ${relative(folder, path)}/`);
    if (failing.has(path)) throw LOST;
    await syncFolder(path);
  });
  /** Bytes in memory, as small blobs are kept. */
  const keeping = (content: string): Keeping => ({
    file: join(folder, 'tmp', content),
    bytes: Buffer.from(content),
    target: blobPath(folder, sha256Of(content)),
  });
  return { folder, asked, failing, folders, keeping };
}

const shardOf = ({ target }: Keeping) => dirname(target);

test('all files are synced before any has its name, and all have their names before a folder is synced', async () => {
  const { asked, folders, keeping } = await openDisk();
  const round = [keeping('one'), keeping('two'), keeping('three')];
  const named = () => round.filter(({ target }) => existsSync(target)).length;
  const states: string[] = [];
  const syncFile: SyncFile = async () => void states.push(`${named()} named, ${asked.length} folders synced`);
  const watched = new ShardFolders(async (path) => {
    states.push(`${named()} named, syncing ${basename(path)}`);
    await syncFolder(path);
  });
  expect(await writeBlobBatch(round, watched, syncFile)).toEqual([undefined, undefined, undefined]);
  expect(states.slice(0, 3)).toEqual(Array(3).fill('0 named, 0 folders synced'));
  expect(states.slice(3).every((state) => state.startsWith('3 named, syncing'))).toBe(true);
  for (const { target } of round) expect(sha256Of(await readFile(target))).toBe(basename(target));
  // Into shards that are there already.
  expect(await writeBlobBatch([keeping('one')], folders)).toEqual([undefined]);
});

test('a new shard is synced with what leads to it, once; after that the shard alone', async () => {
  const { asked, folders, keeping } = await openDisk();
  const one = keeping('one');
  await writeBlobBatch([one, keeping('one again')], folders);
  const [shard, above] = [sha256Of('one').slice(0, 4), sha256Of('one').slice(0, 2)].map((name) =>
    name.length === 4 ? `blobs/${name.slice(0, 2)}/${name.slice(2)}/` : `blobs/${name}/`,
  );
  expect(asked).toEqual(expect.arrayContaining([`sync ${shard}`, `sync ${above}`, 'sync blobs/']));
  expect(asked.filter((call) => call === 'sync blobs/')).toHaveLength(1);
  asked.length = 0;
  await writeBlobBatch([one], folders);
  expect(asked).toEqual([`sync ${shard}`]);
});

test('a shard that somebody took away is made and synced anew', async () => {
  const { asked, folder, folders, keeping } = await openDisk();
  const one = keeping('one');
  await writeBlobBatch([one], folders);
  await rm(dirname(shardOf(one)), { recursive: true });
  asked.length = 0;
  expect(await writeBlobBatch([one], folders)).toEqual([undefined]);
  const shard = relative(folder, shardOf(one));
  expect(asked.sort()).toEqual(['sync blobs/', `sync ${dirname(shard)}/`, `sync ${shard}/`]);
});

test('a file that cannot be synced is not kept, and those beside it are', async () => {
  const { folder, folders, keeping } = await openDisk();
  const round = [keeping('one'), keeping('two'), keeping('three')];
  let call = 0;
  const syncFile: SyncFile = async () => {
    call += 1;
    if (call === 2) throw LOST;
  };
  expect(await writeBlobBatch(round, folders, syncFile)).toEqual([undefined, LOST, undefined]);
  expect(round.map(({ target }) => existsSync(target))).toEqual([true, false, true]);
  expect(await readdir(join(folder, 'tmp'))).toEqual(['two']);
});

test('a name that cannot be given refuses its own blob alone', async () => {
  const { folders, keeping } = await openDisk();
  const [one, two] = [keeping('one'), keeping('two')];
  // A file lies where the shard would be.
  await mkdir(dirname(shardOf(one)), { recursive: true });
  writeFileSync(shardOf(one), '');
  const [refused, kept] = await writeBlobBatch([one, two], folders);
  expect(refused).toMatchObject({ code: 'EEXIST' });
  expect(kept).toBeUndefined();
  expect(existsSync(two.target)).toBe(true);
});

test('a folder that cannot be synced keeps none of its blobs, and is synced whole the next time', async () => {
  const { asked, failing, folders, keeping } = await openDisk();
  const [one, two] = [keeping('one'), keeping('two')];
  failing.add(dirname(shardOf(one)));
  expect(await writeBlobBatch([one, two], folders)).toEqual([LOST, undefined]);
  failing.clear();
  asked.length = 0;
  expect(await writeBlobBatch([one], folders)).toEqual([undefined]);
  expect(asked).toHaveLength(3);
});
