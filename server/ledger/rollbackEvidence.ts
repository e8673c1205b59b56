import { copyFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { createFolder, syncFile, syncFolder } from '../store/blobs/durableFile.ts';
import { isMissing } from '../store/blobs/fileErrors.ts';
import { databaseFile } from '../store/blobs/paths.ts';
import { headFile } from '../store/opening/headFile.ts';
import { readStoredCheckpoints } from './checkpoints.ts';

/**
 * Copies the evidence of a rollback to `rolled-back/<time>`: the head file, the checkpoints and the write-ahead log. The
 * log may hold the missing rows, and SQLite would overwrite it.
 */
export async function saveRollbackEvidence(folder: string, at: string): Promise<void> {
  const evidence = join(folder, 'rolled-back', at.replace(/[-:.]/g, ''));
  await createFolder(evidence);
  const notes = await readStoredCheckpoints(folder);
  for (const file of [headFile(folder), `${databaseFile(folder)}-wal`, ...notes.map(({ file }) => file)]) {
    const copy = join(evidence, basename(file));
    try {
      await copyFile(file, copy);
    } catch (error) {
      if (isMissing(error)) continue;
      throw error;
    }
    await syncFile(copy);
  }
  await syncFolder(evidence);
}
