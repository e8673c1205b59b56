import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import type { Clock } from '../../shared/values/clock.ts';
import { openArchive } from '../ledger/openArchive.ts';
import { hasDatabase } from '../store/opening/inspectFolder.ts';
import { movedTo, requireHere } from '../store/opening/movedFolder.ts';
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
