import { readdir, rmdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isMissing } from '../store/blobs/blobStore.ts';
import { hasDatabase } from '../store/opening/inspectFolder.ts';
import { requireHere } from '../store/opening/movedFolder.ts';
import { UsageError } from './options.ts';

/**
 * Returns the absolute path of a data folder that holds an archive.
 *
 * @throws UsageError if the folder holds no archive; MovedFolderError, UnfinishedMoveError if it is elsewhere; MissingDatabaseError if it holds an archive without its database
 */
export function archiveFolder(data: string): string {
  const folder = resolve(data);
  requireHere(folder);
  if (!hasDatabase(folder)) throw new UsageError(`There is no archive in ${folder}.`);
  return folder;
}

/** Removes the folder if it is empty, so that it can be created anew. */
export async function requireEmpty(folder: string): Promise<void> {
  try {
    if ((await readdir(folder)).length > 0) {
      throw new UsageError(`${folder} is not empty; name a new or empty data folder with --data.`);
    }
    await rmdir(folder);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}
