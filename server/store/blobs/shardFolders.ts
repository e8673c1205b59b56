import { mkdir, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFolder } from './durableFile.ts';

interface Shard {
  made: Promise<unknown>;
  /** The entries that lead to the shard are on stable storage. */
  synced: Promise<unknown>;
}

/**
 * The folders `blobs/ab/cd`. One that is there need not be on stable storage: another upload, or a process that was
 * killed, may have made it a moment ago without having synced what leads to it. So each is synced once by each process,
 * and whoever moves a blob into it waits for that.
 */
export class ShardFolders {
  readonly #shards = new Map<string, Shard>();

  /**
   * Moves a file whose bytes are synced to its name in a shard, durably; replaces what stands there. Folders are synced
   * together, because a file system that keeps a journal writes it once for all of them.
   *
   * A crash before the rename leaves the file in `tmp/`, which the next start empties; one after it leaves a blob that
   * no row names, which is legal and swept.
   */
  async receive(from: string, to: string): Promise<void> {
    const folder = dirname(to);
    const shard = this.#shards.get(folder) ?? this.#open(folder);
    await shard.made;
    await rename(from, to);
    await Promise.all([syncFolder(folder), shard.synced]);
  }

  #open(folder: string): Shard {
    const made = mkdir(folder, { recursive: true, mode: 0o700 });
    const above = dirname(folder);
    const synced = made.then(() => Promise.all([syncFolder(above), syncFolder(dirname(above))]));
    const shard = { made, synced };
    this.#shards.set(folder, shard);
    // Whoever waits is told; the next one tries again.
    synced.catch(() => this.#shards.delete(folder));
    return shard;
  }
}
