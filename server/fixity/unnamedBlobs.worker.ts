import { type Dirent, lstatSync, readdirSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { workerData } from 'node:worker_threads';
import { isDigest } from '../../shared/values/digestPattern.ts';
import { hashFileSync } from '../hashing/hashInThreads.ts';
import { answerParent } from '../runtime/threads.ts';
import { databaseFile, isMissing } from '../store/files.ts';
import { openForReading } from '../store/sqlite/engine/open.ts';
import { blobBytes } from '../store/sqlite/node/blobs.ts';
import { isReleased } from '../store/sqlite/node/withheld.ts';
import type { UnnamedBlobs, UnnamedBlobsInput } from './lostAndFound.ts';

/** The limits of one run, so that its findings are handled soon and memory stays flat. */
const SLICE_MS = 5_000;
const MAX_FINDINGS = 1_000;
const SHARD = /^[0-9a-f]{2}$/;

const input = workerData as UnnamedBlobsInput;
const database = openForReading(databaseFile(input.folder));
const started = performance.now();
const found: UnnamedBlobs = { position: input.after, isEnd: false, unnamed: [], released: [], foreign: [] };

function entriesOf(...path: string[]): Dirent[] {
  try {
    const entries = readdirSync(join(input.folder, 'blobs', ...path), { withFileTypes: true });
    return entries.sort((left, right) => (left.name < right.name ? -1 : 1));
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** Returns the subfolders that may hold blobs. Reports anything else as foreign if `reportsForeign`. */
function shardsIn(reportsForeign: boolean, ...path: string[]): string[] {
  const shards: string[] = [];
  for (const entry of entriesOf(...path)) {
    if (entry.isDirectory() && SHARD.test(entry.name)) shards.push(entry.name);
    else if (reportsForeign) addForeign(...path, entry.name);
  }
  return shards;
}

function addForeign(...path: string[]): void {
  found.foreign.push(['blobs', ...path].join('/'));
}

function listFolder(first: string, second: string): void {
  for (const entry of entriesOf(first, second)) {
    const { name } = entry;
    if (!entry.isFile() || !isDigest(name) || !name.startsWith(first + second))
      addForeign(first, second, name);
    else if (blobBytes(database, name) === undefined) addUnnamed(name, join(first, second, name));
    else if (isReleased(database, name)) found.released.push(name);
  }
}

function addUnnamed(sha256: string, name: string): void {
  const path = join(input.folder, 'blobs', name);
  const stats = statsOf(path);
  if (!stats || Date.now() - stats.ctimeMs < input.leastAgeMs) return;
  const hashed = hashFileSync({ path, algorithms: ['sha256'] }, () => {});
  if ('failure' in hashed && hashed.failure === 'ENOENT') return;
  const digest = 'failure' in hashed ? 'unreadable' : (hashed.digests.sha256 ?? 'unreadable');
  found.unnamed.push({ sha256, bytes: stats.size, found: digest });
}

function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function run(): UnnamedBlobs {
  for (const first of shardsIn(input.after === '')) {
    if (first < input.after.slice(0, 2)) continue;
    for (const second of shardsIn(first !== input.after.slice(0, 2), first)) {
      const position = `${first}/${second}`;
      if (position <= input.after) continue;
      const isOver =
        found.unnamed.length + found.released.length + found.foreign.length >= MAX_FINDINGS ||
        performance.now() - started > SLICE_MS;
      if (isOver && found.position !== input.after) return found;
      listFolder(first, second);
      found.position = position;
    }
  }
  return { ...found, isEnd: true };
}

await answerParent(run);
database.close();
