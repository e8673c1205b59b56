import { join } from 'node:path';
import type { JournaledBlob } from './journalRecords.ts';
import { blobPath, temporaryFolder } from './paths.ts';
import type { ShardFolders } from './shardFolders.ts';
import { writeBlobBatch } from './writeBlobBatch.ts';

/** Files that are opened at once. */
const AT_ONCE = 64;

/**
 * Writes blobs of the journal to new files, syncs those and puts them in the place of what is there.
 *
 * @throws what the disk says of the first that fails; what came before it is kept.
 */
export async function rewriteBlobs(
  dataFolder: string,
  blobs: readonly JournaledBlob[],
  folders: ShardFolders,
): Promise<void> {
  for (let first = 0; first < blobs.length; first += AT_ONCE) {
    const round = blobs.slice(first, first + AT_ONCE).map(({ sha256, bytes }, index) => ({
      file: join(temporaryFolder(dataFolder), `${sha256}.${index}.anew`),
      bytes,
      target: blobPath(dataFolder, sha256),
    }));
    for (const failure of await writeBlobBatch(round, folders)) if (failure) throw failure;
  }
}
