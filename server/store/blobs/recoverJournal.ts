import { readdir, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { createFolder } from './durableFile.ts';
import { blobsIn, type JournaledBlob } from './journalRecords.ts';
import { journalFolder } from './paths.ts';
import { rewriteBlobs } from './rewriteBlobs.ts';
import { ShardFolders } from './shardFolders.ts';

/**
 * Reads what a crash left in the journal and empties it: each blob that a row names is on stable storage under its name
 * after that; what no row names is given to `leave`. Each is written anew, whatever its file looks like: a sync that
 * failed before the crash may have left bytes that can be read and are not on the disk.
 */
export async function recoverJournal(
  dataFolder: string,
  isNamed: (sha256: string) => boolean,
  leave: (blobs: JournaledBlob[], folders: ShardFolders) => Promise<void>,
): Promise<void> {
  const folder = journalFolder(dataFolder);
  await createFolder(folder);
  const folders = new ShardFolders();
  for (const name of await readdir(folder)) {
    const file = join(folder, name);
    const blobs = [...blobsIn(await readFile(file))];
    await rewriteBlobs(
      dataFolder,
      blobs.filter(({ sha256 }) => isNamed(sha256)),
      folders,
    );
    await leave(
      blobs.filter(({ sha256 }) => !isNamed(sha256)),
      folders,
    );
    await unlink(file);
  }
}
