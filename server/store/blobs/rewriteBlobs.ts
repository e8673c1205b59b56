import { join } from 'node:path';
import type { JournaledBlob } from './journalRecords.ts';
import { blobPath, temporaryFolder } from './paths.ts';
import type { ShardFolders } from './shardFolders.ts';
import { writeBlobBatch } from './writeBlobBatch.ts';

/** The number of files open at the same time. */
const AT_ONCE = 64;

/**
 * Writes blobs of the journal to new files, syncs them and replaces the existing files.
 *
 * @throws the error of the first blob that fails; those before it are written.
 */
export async function rewriteBlobs(
  dataFolder: string,
  blobs: readonly JournaledBlob[],
  folders: ShardFolders,
): Promise<void> {
  for (let first = 0; first < blobs.length; first += AT_ONCE) {
    const batch = blobs.slice(first, first + AT_ONCE).map(({ sha256, bytes }, index) => ({
      file: join(temporaryFolder(dataFolder), `${sha256}.${index}.anew`),
      bytes,
      target: blobPath(dataFolder, sha256),
    }));
    for (const failure of await writeBlobBatch(batch, folders)) if (failure) throw failure;
  }
}
