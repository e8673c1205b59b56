import { existsSync, realpathSync } from 'node:fs';
import type { DataFolder } from '../../shared/node/dataFolder.ts';
import { Problem } from '../../shared/problems.ts';
import { forgetMove, movedFrom, movedTo, removeMoved } from '../store/opening/movedFolder.ts';

/** Returns where an archive is, and the old folder that a move left. */
export function readDataFolder(folder: string): DataFolder {
  const move = movedFrom(folder);
  return {
    folder,
    moved_from: move ? { folder: move.folder, at: move.at, exists: existsSync(move.folder) } : null,
  };
}

/**
 * Removes the folder from which an archive was moved, after the owner confirmed it. Its mark is removed last: until then
 * it says where the archive is. If the folder is gone, it is only forgotten.
 *
 * @throws Problem `not_found` if there is none; `not_the_old_folder` if another folder is there, or it cannot be removed
 */
export async function removeOldFolder(folder: string): Promise<void> {
  const move = movedFrom(folder);
  if (!move) throw new Problem('not_found', 'There is no old folder of this archive.');
  const old = move.folder;
  if (existsSync(old)) {
    if (movedTo(old)?.id !== move.id || realpathSync(old) === realpathSync(folder))
      throw new Problem(
        'not_the_old_folder',
        `${old} is not the folder from which this archive was moved any more. Nothing was removed.`,
      );
    await removeAll(old);
  }
  await forgetMove(folder);
}

async function removeAll(old: string): Promise<void> {
  try {
    await removeMoved(old);
  } catch (error) {
    throw new Problem(
      'not_the_old_folder',
      `${old} could not be removed completely. Remove it yourself, or give this account permission and try again.`,
      { cause: error },
    );
  }
}
