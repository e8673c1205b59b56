import { readFileSync } from 'node:fs';
import { readdir, rename, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Move, moveSchema } from '../../../shared/node/dataFolder.ts';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { isMissing, syncFolder, writeFileDurably } from '../files.ts';

/**
 * The files that say in which folder an archive is. The old folder has `moved.json` from the moment of the move on. The new
 * one has `arriving.json` before, and `moved-from.json` after. So at each moment exactly one of the two can be opened.
 */
const MOVED = 'moved.json';
const ARRIVING = 'arriving.json';
const ARRIVED = 'moved-from.json';

/** The names of these files, which are not copied by a move. */
export const MOVE_FILES: readonly string[] = [MOVED, ARRIVING, ARRIVED];

/** The archive of this folder was moved to another. */
export class MovedFolderError extends Error {
  constructor(folder: string, { folder: to, at }: Move) {
    super(
      `The archive was moved from ${folder} to ${to} on ${at.slice(0, 10)}. Open it there. What is left in ${folder} is an old copy.`,
    );
    this.name = 'MovedFolderError';
  }
}

/** The folder is the target of a move that did not end. */
export class UnfinishedMoveError extends Error {
  constructor(folder: string, { folder: from }: Move) {
    super(
      `${folder} is the unfinished copy of a move that was interrupted: the archive is still in ${from}. Open it there, or move it again.`,
    );
    this.name = 'UnfinishedMoveError';
  }
}

/** The move of the archive out of this folder, or undefined. */
export function movedTo(folder: string): Move | undefined {
  return readMove(folder, MOVED);
}

/** The move of the archive into this folder, as long as its old folder was not removed; undefined if there was none. */
export function movedFrom(folder: string): Move | undefined {
  return readMove(folder, ARRIVED);
}

/** The move into this folder that did not end before its old folder was marked, or undefined. */
export function unfinishedMove(folder: string): Move | undefined {
  const arriving = readMove(folder, ARRIVING);
  return arriving && movedTo(arriving.folder)?.id !== arriving.id ? arriving : undefined;
}

/** @throws MovedFolderError, UnfinishedMoveError */
export function requireHere(folder: string): void {
  const moved = movedTo(folder);
  if (moved) throw new MovedFolderError(folder, moved);
  const unfinished = unfinishedMove(folder);
  if (unfinished) throw new UnfinishedMoveError(folder, unfinished);
}

/** Marks a folder as the target of a move, before anything is copied there. */
export async function markArriving(folder: string, move: Move): Promise<void> {
  await writeMove(folder, ARRIVING, move);
}

/** Moves the archive: from now on it is in `move.folder`, and this folder is not opened any more. */
export async function markMoved(folder: string, move: Move): Promise<void> {
  await writeMove(folder, MOVED, move);
}

/** Completes the move into a folder, once the old one is marked. Does nothing if there is none. */
export async function finishArrival(folder: string): Promise<void> {
  try {
    await rename(join(folder, ARRIVING), join(folder, ARRIVED));
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  await syncFolder(folder);
}

/** Whether a folder has nothing but what a move left that did not end. */
export async function isLeftOver(folder: string): Promise<boolean> {
  if (unfinishedMove(folder)) return true;
  // A move that was killed right at its start left only this, or nothing.
  return (await readdir(folder)).every((name) => name === `${ARRIVING}.tmp`);
}

/** Removes the target of a move that did not end. */
export function removeUnfinished(folder: string): Promise<void> {
  return removeMarked(folder, ARRIVING);
}

/** Removes the folder from which an archive was moved. */
export function removeMoved(folder: string): Promise<void> {
  return removeMarked(folder, MOVED);
}

/** Removes a folder, its mark last: without the mark, what is left of it could be taken for an archive. */
export async function removeMarked(folder: string, mark: string): Promise<void> {
  for (const name of await readdir(folder))
    if (name !== mark) await rm(join(folder, name), { recursive: true, force: true });
  await syncFolder(folder);
  await rm(join(folder, mark), { force: true });
  await rmdir(folder).catch((error: unknown) => {
    if (!STAYS_EMPTY.has(errorCode(error))) throw error;
  });
}

/** Errors that leave an empty folder: it is the top of a disk, or this account may not remove it. */
const STAYS_EMPTY = new Set<string | undefined>(['EBUSY', 'EACCES', 'EPERM', 'EROFS']);

/** Removes what the new folder knows of the old one, after that was removed. */
export async function forgetMove(folder: string): Promise<void> {
  await rm(join(folder, ARRIVED), { force: true });
  await syncFolder(folder);
}

function writeMove(folder: string, name: string, move: Move): Promise<void> {
  return writeFileDurably(join(folder, name), `${JSON.stringify(move)}\n`, 0o600);
}

function readMove(folder: string, name: string): Move | undefined {
  let text: string;
  try {
    text = readFileSync(join(folder, name), 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  return moveSchema.parse(JSON.parse(text));
}
