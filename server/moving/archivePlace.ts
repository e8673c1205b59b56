import { existsSync, realpathSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import type { DataFolder } from '../../shared/node/dataFolder.ts';
import { Problem } from '../../shared/problems.ts';
import type { Clock } from '../../shared/values/clock.ts';
import { openArchive } from '../ledger/openArchive.ts';
import { hasDatabase } from '../store/opening/inspectFolder.ts';
import { forgetMove, movedFrom, movedTo, removeMoved, requireHere } from '../store/opening/movedFolder.ts';
import { MoveError, placeOf, requireFree } from './checkMove.ts';

/** Marks that lead in a circle were made by hand. */
const MAX_MOVES = 20;

/** Returns the folder in which an archive is now that was in this one, after any number of moves. */
export function followMoves(folder: string): string {
  let place = folder;
  for (let moves = 0; moves < MAX_MOVES; moves += 1) {
    const move = movedTo(place);
    if (!move) break;
    place = move.folder;
  }
  return place;
}

/**
 * Checks that a folder has an archive, so that opening it does not create one: the folder may be on a disk that is not
 * attached.
 *
 * @throws MoveError, MovedFolderError, UnfinishedMoveError, MissingDatabaseError
 */
export function requireArchive(folder: string): void {
  if (!isAbsolute(folder)) throw new MoveError(`${folder} is not a complete path.`);
  if (!existsSync(folder))
    throw new MoveError(`There is no folder ${folder}. If it is on a disk that is not attached, attach it.`);
  requireHere(folder);
  if (!hasDatabase(folder)) throw new MoveError(`There is no archive in ${folder}.`);
}

/**
 * Creates an archive in a folder that does not exist or is empty. Returns the folder.
 *
 * @throws MoveError, and what `openArchive` throws
 */
export async function createArchive(target: string, clock: Clock): Promise<string> {
  const folder = placeOf(target);
  await requireFree(folder);
  const { store } = await openArchive({ folder, clock });
  await store.close();
  return folder;
}

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
