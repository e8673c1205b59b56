import {
  accessSync,
  constants,
  type Dirent,
  existsSync,
  lstatSync,
  realpathSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path';
import type { DataFolder } from '../../shared/node/dataFolder.ts';
import { Problem } from '../../shared/problems.ts';
import type { Clock } from '../../shared/values/clock.ts';
import { errorCode } from '../../shared/values/errorCode.ts';
import { openArchive } from '../ledger/openArchive.ts';
import { isMissing } from '../store/files.ts';
import { hasDatabase } from '../store/opening/inspectFolder.ts';
import {
  forgetMove,
  isLeftOver,
  MOVE_FILES,
  movedFrom,
  movedTo,
  removeMoved,
  requireHere,
  unfinishedMove,
} from '../store/opening/movedFolder.ts';
import { isSample } from './sampleFolder.ts';

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
  const folder = realTarget(target);
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

/** An archive cannot be moved; the message is a sentence for the owner. Nothing was changed. */
export class MoveError extends Error {
  constructor(sentence: string, cause?: unknown) {
    super(`${sentence} Nothing was changed.`, { cause });
    this.name = 'MoveError';
  }
}

/** What a move will copy: absolute paths without symbolic links. */
export interface MovePlan {
  from: string;
  to: string;
  /** The paths of files and folders below `from`, each folder before what is in it. */
  files: { path: string; bytes: number }[];
  folders: string[];
  bytes: number;
}

/** Not copied: files that belong to an open folder, objects fetched for readers, and the marks of moves. */
const LEFT_BEHIND = new Set(['lock', 'listening', 'strongroom.db-shm', 'cache', ...MOVE_FILES]);
/** A new folder needs some space beyond its files: for folders, and to open the archive. */
const SPARE_BYTES = 4_194_304;

/** Returns the folder into which the files are copied before the target gets its name. */
export function partialFolder(to: string): string {
  return `${to}.moving`;
}

/**
 * Checks that an archive can be moved to a folder. Changes nothing, and can be called while a node has the archive open.
 *
 * @throws MoveError, MovedFolderError, UnfinishedMoveError, MissingDatabaseError
 */
export async function checkMove(source: string, target: string): Promise<MovePlan> {
  requireHere(source);
  if (!hasDatabase(source)) throw new MoveError(`There is no archive in ${source}.`);
  if (isSample(source))
    throw new MoveError(`${source} is the sample archive, which is only for looking around.`);
  const from = realpathSync(source);
  const earlier = movedFrom(from);
  if (earlier)
    throw new MoveError(
      `The old folder ${earlier.folder} of an earlier move is still kept. Remove it first, or confirm that it is gone.`,
    );
  const to = realTarget(target);
  if (to === from) throw new MoveError(`The archive is already in ${from}.`);
  if (isInside(to, from))
    throw new MoveError(`${to} is inside the archive’s own folder. Name another place.`);
  if (isInside(from, to)) throw new MoveError(`The archive’s folder is inside ${to}. Name another place.`);
  await requireFree(to);
  await requireReplaceable(partialFolder(to));
  const plan = await listFiles(from, to);
  const { bavail, bsize } = statfsSync(dirname(to));
  if (bavail * bsize < plan.bytes + SPARE_BYTES)
    throw new MoveError(
      `The disk of ${to} has ${megabytes(bavail * bsize)} MB free, and the archive needs ${megabytes(plan.bytes + SPARE_BYTES)} MB.`,
    );
  return plan;
}

/** The file in the top folder of a copy that says whose it is. */
const COPY_FILE = 'strongroom.json';

/** Returns the path of the target without symbolic links. @throws MoveError if nothing can be created there */
function realTarget(target: string): string {
  if (!isAbsolute(target)) throw new MoveError(`${target} is not a complete path.`);
  const parent = dirname(target);
  let real: string;
  try {
    real = realpathSync(parent);
    if (!statSync(real).isDirectory()) throw new MoveError(`${parent} is a file and not a folder.`);
    accessSync(real, constants.W_OK | constants.X_OK);
  } catch (error) {
    if (isMissing(error))
      throw new MoveError(`There is no folder ${parent}. Attach its disk, or create it.`, error);
    if (errorCode(error) === 'EROFS')
      throw new MoveError(`${parent} is on a disk that cannot be written.`, error);
    if (errorCode(error) === 'EACCES' || errorCode(error) === 'EPERM')
      throw new MoveError(`This account may not write to ${parent}.`, error);
    throw error;
  }
  const to = join(real, basename(target));
  // A web server may show the copy to anyone: this archive would lie there in the clear, with its keys.
  for (let folder = real; ; folder = dirname(folder)) {
    if (existsSync(join(folder, COPY_FILE)))
      throw new MoveError(`${to} is inside ${folder}, which is a copy of an archive. Name another place.`);
    if (dirname(folder) === folder) break;
  }
  // A link with this name could lead anywhere.
  if (lstatSync(to, { throwIfNoEntry: false })?.isSymbolicLink())
    throw new MoveError(`${to} is a link. Name the folder that it leads to.`);
  return to;
}

/** @throws MoveError unless there is nothing at the target, an empty folder, or what an interrupted move left */
async function requireFree(to: string): Promise<void> {
  const found = statSync(to, { throwIfNoEntry: false });
  if (!found) return;
  if (!found.isDirectory()) throw new MoveError(`${to} is a file. Name a new folder.`);
  if (found.dev !== statSync(dirname(to)).dev)
    throw new MoveError(
      `${to} is the top folder of a disk. Name a folder in it, such as ${join(to, 'strongroom')}.`,
    );
  if (unfinishedMove(to)) return;
  const names = await readdir(to);
  if (names.includes('strongroom.db')) throw new MoveError(`${to} has another archive. Name a new folder.`);
  if (names.length > 0) throw new MoveError(`${to} is not empty. Name a new or empty folder.`);
}

/** The working folder of a move is removed, so it must be one. */
async function requireReplaceable(partial: string): Promise<void> {
  const found = lstatSync(partial, { throwIfNoEntry: false });
  if (!found || (found.isDirectory() && (await isLeftOver(partial)))) return;
  throw new MoveError(`${partial}, in which the copy would be made, already exists. Rename or remove it.`);
}

/** @throws MoveError if there is anything but files and folders */
async function listFiles(from: string, to: string): Promise<MovePlan> {
  const plan: MovePlan = { from, to, files: [], folders: [], bytes: 0 };
  const waiting = [from];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (folder === from && LEFT_BEHIND.has(entry.name)) continue;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        plan.folders.push(relative(from, path));
        waiting.push(path);
      } else addFile(plan, path, entry);
    }
  }
  return plan;
}

function addFile(plan: MovePlan, path: string, entry: Dirent): void {
  if (!entry.isFile())
    throw new MoveError(
      `${path} is ${entry.isSymbolicLink() ? 'a link' : 'neither a file nor a folder'}. Replace it with the file or folder itself, then move the archive.`,
    );
  // A running node may just have removed a file of its own.
  const bytes = lstatSync(path, { throwIfNoEntry: false })?.size;
  if (bytes === undefined) return;
  plan.files.push({ path: relative(plan.from, path), bytes });
  plan.bytes += bytes;
}

function isInside(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}
