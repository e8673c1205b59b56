import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncFolder } from './durableFile.ts';

/** Syncs a folder's entries. */
export type SyncFolder = (folder: string) => Promise<void>;

/**
 * The folders `blobs/ab/cd`. An existing folder is not always on stable storage: a killed process may have created it
 * without syncing its parents. So each process syncs the parents of each folder once, before it reports the first blob
 * in it as durable.
 */
export class ShardFolders {
  readonly #syncFolder: SyncFolder;
  /** Folders whose entry in the parent folder is on stable storage. */
  readonly #anchored = new Set<string>();
  readonly #made = new Set<string>();
  /** Syncs that are requested but not begun; they cover every change until they begin. */
  #pending = new Map<string, Promise<void>>();

  constructor(sync: SyncFolder = syncFolder) {
    this.#syncFolder = sync;
  }

  /** Creates a shard if it does not exist. If it was removed, its parents are synced again. */
  make(shard: string): void {
    if (this.#made.has(shard) && existsSync(shard)) return;
    if (this.#made.delete(shard)) for (const folder of [shard, dirname(shard)]) this.#anchored.delete(folder);
    mkdirSync(shard, { recursive: true, mode: 0o700 });
    this.#made.add(shard);
  }

  /**
   * Syncs a shard and, the first time, its parents. Calls in one turn of the event loop are combined: each folder is
   * synced once.
   */
  async sync(shard: string): Promise<void> {
    const above = dirname(shard);
    const anchors = [shard, above].filter((folder) => !this.#anchored.has(folder));
    await Promise.all([shard, ...anchors.map(dirname)].map((folder) => this.#once(folder)));
    for (const folder of anchors) this.#anchored.add(folder);
  }

  #once(folder: string): Promise<void> {
    const pending = this.#pending.get(folder);
    if (pending) return pending;
    const synced = Promise.resolve().then(() => {
      this.#pending.delete(folder);
      return this.#syncFolder(folder);
    });
    this.#pending.set(folder, synced);
    return synced;
  }
}
