import { readdir, rmdir } from 'node:fs/promises';
import { isMissing } from '../store/blobs/blobStore.ts';
import { UsageError } from './command.ts';

/** Removes the folder if it is empty, so that it can be created anew. */
export async function requireEmpty(folder: string): Promise<void> {
  try {
    if ((await readdir(folder)).length > 0) {
      throw new UsageError(`${folder} is not empty; an archive needs a new data folder, which --data names.`);
    }
    await rmdir(folder);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}
