import { closeSync, fdatasync, openSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ShardFolders } from './shardFolders.ts';
import { writeAllSync } from './writeAllSync.ts';

/** The write of one blob. */
export interface BlobWrite {
  /** The temporary file in `tmp/`. */
  file: string;
  /** The bytes to write to the temporary file; absent if they are there already, synced. */
  bytes?: Uint8Array;
  /** The final file in `blobs/`. */
  target: string;
  /** Whether another write of the same blob is in progress, which may have created the target. */
  isShared?: boolean;
}

/** Syncs the data of an open file. */
export type SyncFile = (descriptor: number) => Promise<void>;

/**
 * Writes a batch of blobs durably. When it resolves, each blob is on stable storage under its name, or has its own error
 * at its index. Existing targets are replaced.
 *
 * The disk is waited for three times per batch, not per blob: all files are synced together, then renamed, then all
 * folders are synced together. A journaling file system commits its journal once for syncs that come together.
 *
 * A crash before the renames leaves files in `tmp/`, which the next start empties. A crash after them leaves blobs that
 * no row references, which is legal. `beforeRename` marks them, so that the next start recognizes them as leftovers.
 */
export async function writeBlobBatch(
  batch: readonly BlobWrite[],
  folders: ShardFolders,
  syncFile: SyncFile = dataSync,
  beforeRename: (blob: BlobWrite) => void = () => {},
): Promise<(Error | undefined)[]> {
  const written = await Promise.all(batch.map((blob) => failureOf(() => write(blob, syncFile))));
  const moved = batch.map((blob, index) =>
    failureOf(() => {
      const { file, target } = blob;
      const failure = written[index];
      if (failure) throw failure;
      folders.make(dirname(target));
      beforeRename(blob);
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

async function write({ file, bytes }: BlobWrite, syncFile: SyncFile): Promise<void> {
  if (bytes === undefined) return;
  const descriptor = openSync(file, 'wx', 0o600);
  try {
    writeAllSync(descriptor, bytes);
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
