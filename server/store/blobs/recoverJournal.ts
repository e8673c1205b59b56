import { readdir, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { createFolder } from './durableFile.ts';
import { type JournaledBlob, parseJournal } from './journalRecords.ts';
import { journalFolder } from './paths.ts';
import { rewriteBlobs } from './rewriteBlobs.ts';
import { ShardFolders } from './shardFolders.ts';

/**
 * Recovers the journal after a crash and empties it. Each blob that a row references is written durably to its own
 * file; the others are passed to `leave`. Existing files are rewritten too: after a failed sync, a file may be readable
 * from the page cache without being on the disk.
 */
export async function recoverJournal(
  dataFolder: string,
  isReferenced: (sha256: string) => boolean,
  leave: (blobs: JournaledBlob[], folders: ShardFolders) => Promise<void>,
): Promise<void> {
  const folder = journalFolder(dataFolder);
  await createFolder(folder);
  const folders = new ShardFolders();
  for (const name of await readdir(folder)) {
    const file = join(folder, name);
    const blobs = [...parseJournal(await readFile(file))];
    await rewriteBlobs(
      dataFolder,
      blobs.filter(({ sha256 }) => isReferenced(sha256)),
      folders,
    );
    await leave(
      blobs.filter(({ sha256 }) => !isReferenced(sha256)),
      folders,
    );
    await unlink(file);
  }
}
