import { type Dirent, lstatSync, readdirSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { isDigest } from '../../shared/values/digestPattern.ts';
import { hashFileSync } from '../hashing/hashInThreads.ts';
import { databaseFile, isMissing } from '../store/files.ts';
import { openForReading, type ReadDatabase } from '../store/sqlite/engine/open.ts';
import { blobBytes } from '../store/sqlite/node/blobs.ts';
import { isReleased } from '../store/sqlite/node/withheld.ts';
import type { UnnamedBlobs, UnnamedBlobsInput } from './lostAndFound.ts';

/** The limits of one run, so that its findings are handled soon and memory stays flat. */
const SLICE_MS = 5_000;
const MAX_FINDINGS = 1_000;
const SHARD = /^[0-9a-f]{2}$/;

/** Walks the files under `blobs/` for a few seconds at most, and lists those that no row names. Runs in a thread. */
export function unnamedSlice(input: UnnamedBlobsInput): UnnamedBlobs {
  const database = openForReading(databaseFile(input.folder));
  try {
    return new SliceWalk(database, input).run();
  } finally {
    database.close();
  }
}

class SliceWalk {
  readonly #database: ReadDatabase;
  readonly #input: UnnamedBlobsInput;
  readonly #started = performance.now();
  readonly #found: UnnamedBlobs;

  constructor(database: ReadDatabase, input: UnnamedBlobsInput) {
    this.#database = database;
    this.#input = input;
    this.#found = { position: input.after, isEnd: false, unnamed: [], released: [], foreign: [] };
  }

  run(): UnnamedBlobs {
    const found = this.#found;
    const { after } = this.#input;
    for (const first of this.#shardsIn(after === '')) {
      if (first < after.slice(0, 2)) continue;
      for (const second of this.#shardsIn(first !== after.slice(0, 2), first)) {
        const position = `${first}/${second}`;
        if (position <= after) continue;
        const isOver =
          found.unnamed.length + found.released.length + found.foreign.length >= MAX_FINDINGS ||
          performance.now() - this.#started > SLICE_MS;
        if (isOver && found.position !== after) return found;
        this.#listFolder(first, second);
        found.position = position;
      }
    }
    return { ...found, isEnd: true };
  }

  /** Returns the subfolders that may hold blobs. Reports anything else as foreign if `reportsForeign`. */
  #shardsIn(reportsForeign: boolean, ...path: string[]): string[] {
    const shards: string[] = [];
    for (const entry of this.#entriesOf(...path)) {
      if (entry.isDirectory() && SHARD.test(entry.name)) shards.push(entry.name);
      else if (reportsForeign) this.#addForeign(...path, entry.name);
    }
    return shards;
  }

  #listFolder(first: string, second: string): void {
    for (const entry of this.#entriesOf(first, second)) {
      const { name } = entry;
      if (!entry.isFile() || !isDigest(name) || !name.startsWith(first + second))
        this.#addForeign(first, second, name);
      else if (blobBytes(this.#database, name) === undefined)
        this.#addUnnamed(name, join(first, second, name));
      else if (isReleased(this.#database, name)) this.#found.released.push(name);
    }
  }

  #entriesOf(...path: string[]): Dirent[] {
    try {
      const entries = readdirSync(join(this.#input.folder, 'blobs', ...path), { withFileTypes: true });
      return entries.sort((left, right) => (left.name < right.name ? -1 : 1));
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }

  #addForeign(...path: string[]): void {
    this.#found.foreign.push(['blobs', ...path].join('/'));
  }

  #addUnnamed(sha256: string, name: string): void {
    const path = join(this.#input.folder, 'blobs', name);
    const stats = statsOf(path);
    if (!stats || Date.now() - stats.ctimeMs < this.#input.leastAgeMs) return;
    const hashed = hashFileSync({ path, algorithms: ['sha256'] }, () => {});
    if ('failure' in hashed && hashed.failure === 'ENOENT') return;
    const digest = 'failure' in hashed ? 'unreadable' : (hashed.digests.sha256 ?? 'unreadable');
    this.#found.unnamed.push({ sha256, bytes: stats.size, found: digest });
  }
}

function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
