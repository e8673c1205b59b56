import { closeSync, fdatasync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ShardFolders } from './shardFolders.ts';

/** Bytes on their way to the name that they are kept under. */
export interface Keeping {
  /** Their file in `tmp/`. */
  file: string;
  /** What is to be written to that file first; absent where it lies there already, synced. */
  bytes?: Uint8Array;
  /** Their name in `blobs/`. */
  target: string;
  /** Whether another write of the same bytes is under way: a file that is there may be of that one. */
  isShared?: boolean;
}

/** Puts what was written to an open file on stable storage. */
export type SyncFile = (descriptor: number) => Promise<void>;

/**
 * Keeps several blobs at once, durably: when it resolves, each is on stable storage under its name, or has an error in
 * its place, which is no other's. What is there under a name is replaced.
 *
 * The disk is asked three times and not three times for each: all files are synced together, then all are renamed, then
 * all folders are synced together. A file system with a journal writes it once for all that is asked of it at one time.
 *
 * A crash before the renames leaves files in `tmp/`, which the next start empties; one after them leaves blobs that no
 * row names, which is legal. `beforeRename` marks them, so that the next start knows them for leftovers.
 */
export async function writeBlobBatch(
  round: readonly Keeping[],
  folders: ShardFolders,
  syncFile: SyncFile = dataSync,
  beforeRename: (keeping: Keeping) => void = () => {},
): Promise<(Error | undefined)[]> {
  const written = await Promise.all(round.map((keeping) => failureOf(() => write(keeping, syncFile))));
  const moved = round.map((keeping, index) =>
    failureOf(() => {
      const { file, target } = keeping;
      const failure = written[index];
      if (failure) throw failure;
      folders.make(dirname(target));
      beforeRename(keeping);
      renameSync(file, target);
      return folders.sync(dirname(target));
    }),
  );
  return Promise.all(moved);
}

async function failureOf(step: () => Promise<void>): Promise<Error | undefined> {
  try {
    await step();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

async function write({ file, bytes }: Keeping, syncFile: SyncFile): Promise<void> {
  if (bytes === undefined) return;
  const descriptor = openSync(file, 'wx', 0o600);
  try {
    for (let rest = bytes; rest.length > 0; ) rest = rest.subarray(writeSync(descriptor, rest));
    await syncFile(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

export function dataSync(descriptor: number): Promise<void> {
  return new Promise((resolve, reject) =>
    fdatasync(descriptor, (error) => (error ? reject(error) : resolve())),
  );
}
