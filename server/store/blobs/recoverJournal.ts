import { hash } from 'node:crypto';
import { readdir, readFile, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createFolder, syncFile } from './durableFile.ts';
import { blobsIn, type JournaledBlob } from './journalRecords.ts';
import { keepRound } from './keepRound.ts';
import { isMissing } from './missing.ts';
import { blobPath, journalFolder, temporaryFolder } from './paths.ts';
import { ShardFolders } from './shardFolders.ts';

/** Files that are opened at once. */
const AT_ONCE = 64;

/**
 * Reads what a crash left in the journal and empties it: each blob that a row names is on stable storage under its name
 * after that. One whose file is not there, or not whole, is written anew; no row names what nobody was told is kept.
 */
export async function recoverJournal(
  dataFolder: string,
  isNamed: (sha256: string) => boolean,
): Promise<void> {
  const folder = journalFolder(dataFolder);
  await createFolder(folder);
  const folders = new ShardFolders();
  for (const name of await readdir(folder)) {
    const file = join(folder, name);
    const named = [...blobsIn(await readFile(file))].filter(({ sha256 }) => isNamed(sha256));
    for (let first = 0; first < named.length; first += AT_ONCE)
      await makeGood(dataFolder, named.slice(first, first + AT_ONCE), folders);
    await unlink(file);
  }
}

async function makeGood(
  dataFolder: string,
  blobs: readonly JournaledBlob[],
  folders: ShardFolders,
): Promise<void> {
  const lost: JournaledBlob[] = [];
  for (const blob of blobs) {
    const target = blobPath(dataFolder, blob.sha256);
    if ((await digestOfFile(target)) !== blob.sha256) {
      lost.push(blob);
      continue;
    }
    await syncFile(target);
    await folders.sync(dirname(target));
  }
  const failures = await keepRound(
    lost.map(({ sha256, bytes }) => ({
      file: join(temporaryFolder(dataFolder), sha256),
      bytes,
      target: blobPath(dataFolder, sha256),
    })),
    folders,
  );
  for (const failure of failures) if (failure) throw failure;
}

async function digestOfFile(file: string): Promise<string | undefined> {
  try {
    return hash('sha256', await readFile(file), 'hex');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
