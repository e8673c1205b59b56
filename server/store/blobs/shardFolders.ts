import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncFolder } from './durableFile.ts';

/** Puts a folder's own entries on stable storage. */
export type SyncFolder = (folder: string) => Promise<void>;

/**
 * The folders `blobs/ab/cd`. One that is there need not be on stable storage: a process that was killed may have made
 * it a moment before, without having synced what leads to it. So what leads to each is synced once by each process,
 * before the first blob in it counts as kept.
 */
export class ShardFolders {
  readonly #syncFolder: SyncFolder;
  /** Folders whose own entry, in the folder above, is known to be on stable storage. */
  readonly #anchored = new Set<string>();
  readonly #made = new Set<string>();
  /** Syncs that were asked for and have not begun: whatever happens before they do is covered by them. */
  #coming = new Map<string, Promise<void>>();

  constructor(sync: SyncFolder = syncFolder) {
    this.#syncFolder = sync;
  }

  /** Makes a shard where it is not there, or not any more: what led to it is then to be synced again. */
  make(shard: string): void {
    if (this.#made.has(shard) && existsSync(shard)) return;
    if (this.#made.delete(shard)) for (const folder of [shard, dirname(shard)]) this.#anchored.delete(folder);
    mkdirSync(shard, { recursive: true, mode: 0o700 });
    this.#made.add(shard);
  }

  /**
   * Puts a shard's entries, and what leads to it, on stable storage. All that are asked for in one turn are synced
   * together, each folder once.
   */
  async sync(shard: string): Promise<void> {
    const above = dirname(shard);
    const anchors = [shard, above].filter((folder) => !this.#anchored.has(folder));
    await Promise.all([shard, ...anchors.map(dirname)].map((folder) => this.#once(folder)));
    for (const folder of anchors) this.#anchored.add(folder);
  }

  #once(folder: string): Promise<void> {
    const known = this.#coming.get(folder);
    if (known) return known;
    const synced = Promise.resolve().then(() => {
      this.#coming.delete(folder);
      return this.#syncFolder(folder);
    });
    this.#coming.set(folder, synced);
    return synced;
  }
}
