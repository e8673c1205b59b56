import { copyFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { createFolder, syncFile, syncFolder } from '../store/blobs/durableFile.ts';
import { isMissing } from '../store/blobs/fileErrors.ts';
import { databaseFile } from '../store/blobs/paths.ts';
import { headFile } from '../store/opening/headFile.ts';
import { readStoredCheckpoints } from './checkpoints.ts';

/**
 * Keeps what says that a database was rolled back, in a folder `rolled-back/<time>`: the head, the checkpoints and the
 * log, which SQLite overwrites and which may hold the rows that are missing.
 */
export async function saveRollbackEvidence(folder: string, at: string): Promise<void> {
  const kept = join(folder, 'rolled-back', at.replace(/[-:.]/g, ''));
  await createFolder(kept);
  const notes = await readStoredCheckpoints(folder);
  for (const file of [headFile(folder), `${databaseFile(folder)}-wal`, ...notes.map(({ file }) => file)]) {
    const copy = join(kept, basename(file));
    try {
      await copyFile(file, copy);
    } catch (error) {
      if (isMissing(error)) continue;
      throw error;
    }
    await syncFile(copy);
  }
  await syncFolder(kept);
}
