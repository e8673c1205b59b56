import { createHash, type Hash, randomBytes } from 'node:crypto';
import { createReadStream, existsSync, statfsSync } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import type { Move } from '../../shared/node/dataFolder.ts';
import { type Clock, instantOf } from '../../shared/values/clock.ts';
import { checkDatabase } from '../fixity/audit.ts';
import { checkOpening } from '../ledger/openArchive.ts';
import { inParallel } from '../runtime/concurrency.ts';
import { databaseFile, digestOf, isNoSpace, syncFile, syncFileSystem, syncFolder } from '../store/files.ts';
import { lockFolder, requireUnopened } from '../store/opening/folderLock.ts';
import { checkHead, inspectFolder } from '../store/opening/inspectFolder.ts';
import {
  finishArrival,
  isLeftOver,
  markArriving,
  markMoved,
  movedTo,
  removeUnfinished,
  unfinishedMove,
} from '../store/opening/movedFolder.ts';
import { checkMove, MoveError, type MovePlan, partialFolder } from './archivePlace.ts';

export interface MoveOptions {
  from: string;
  /** The new folder: it does not exist, or is empty. Its parent exists. */
  to: string;
  clock: Clock;
  signal: AbortSignal;
  /** Called with the bytes that were copied or read back, and their total. */
  progress: (done: number, total: number) => void;
}

interface MoveResult {
  from: string;
  to: string;
  files: number;
  bytes: number;
  /** Blobs whose bytes did not match their name before the move. They were copied as they are. */
  damaged: string[];
}

const FILES_AT_ONCE = 8;
const READ_BYTES = 1_048_576;
/** SQLite needs some space to read a database. */
const LEAST_BYTES = 131_072;

/**
 * Moves an archive that no node has open to another folder. Everything is copied under a temporary name, synced, read back
 * and verified. Then the folder gets its name, and the old one is marked as moved: that one file decides where the archive
 * is. The old folder is kept. A process that ends before that file is written leaves the archive where it was.
 *
 * @throws MoveError, the errors of `checkOpening`, the signal's reason: the archive is where it was, and nothing is left at
 * the target.
 */
export async function moveArchive(options: MoveOptions): Promise<MoveResult> {
  const { from, to, clock, signal, progress } = options;
  await checkMove(from, to);
  await checkOpening({ folder: from, clock });
  const lock = lockFolder(from);
  try {
    const { lockId } = await inspectFolder(from, checkHead);
    if (lockId !== lock.id) requireUnopened(from);
    // Listed again: nobody writes any more.
    const plan = await checkMove(from, to);
    const move = { id: randomBytes(16).toString('hex'), at: instantOf(clock.now()) };
    const done = progressOf(plan, progress);
    try {
      const damaged = await copyAndVerify(plan, { ...move, folder: plan.from }, { signal, done });
      await nameTarget(plan.to);
      signal.throwIfAborted();
      await switchTo(plan, { ...move, folder: plan.to });
      await finishArrival(plan.to);
      return { from: plan.from, to: plan.to, files: plan.files.length, bytes: plan.bytes, damaged };
    } catch (error) {
      if (movedTo(plan.from)?.id === move.id) throw error;
      // Before the copies are removed: that frees the space that was missing.
      const reason = signal.aborted ? error : asMoveError(error, plan);
      for (const left of [partialFolder(plan.to), plan.to])
        if (unfinishedMove(left)?.id === move.id) await removeUnfinished(left);
      throw reason;
    }
  } finally {
    lock.release();
  }
}

function asMoveError(error: unknown, { to }: MovePlan): unknown {
  if (!existsSync(dirname(to))) return new MoveError(`The disk of ${to} is gone.`, error);
  // Without space, SQLite fails with an I/O error.
  const { bavail, bsize } = statfsSync(dirname(to));
  if (isNoSpace(error) || bavail * bsize < LEAST_BYTES)
    return new MoveError(`The disk of ${to} is full.`, error);
  return error;
}

interface CopyOptions {
  signal: AbortSignal;
  /** Called with the bytes that were just read. */
  done: (bytes: number) => void;
}

/** Copies everything into the temporary folder, on stable storage. Returns the blobs that were damaged before. */
async function copyAndVerify(plan: MovePlan, move: Move, options: CopyOptions): Promise<string[]> {
  const { from, to, files, folders } = plan;
  const partial = partialFolder(to);
  await makeRoom(partial);
  await mkdir(partial, { mode: 0o700 });
  await markArriving(partial, move);
  for (const folder of folders) await mkdir(join(partial, folder), { mode: 0o700 });
  const digests = new Map<string, string>();
  await inParallel(files, FILES_AT_ONCE, async ({ path }) => {
    digests.set(path, await copyFile(join(from, path), join(partial, path), options));
  });
  await syncAll(partial, plan);
  await inParallel(files, FILES_AT_ONCE, async ({ path, bytes }) => {
    options.signal.throwIfAborted();
    if ((await digestOf(join(partial, path), options.signal)) !== digests.get(path))
      throw new MoveError(`${join(partial, path)} was read back with other bytes. Check the disk of ${to}.`);
    options.done(bytes);
  });
  await verifyDatabase(partial, options.signal);
  return files
    .map(({ path }) => path)
    .filter((path) => path.startsWith(`blobs${sep}`) && digests.get(path) !== basename(path))
    .map((path) => basename(path));
}

/** Copies a file with its permissions; returns the SHA-256 of what was read. */
async function copyFile(from: string, to: string, { signal, done }: CopyOptions): Promise<string> {
  const { mode } = await stat(from);
  const hash: Hash = createHash('sha256');
  const target = await open(to, 'wx', mode & 0o777);
  try {
    for await (const chunk of createReadStream(from, { highWaterMark: READ_BYTES, signal })) {
      const bytes = chunk as Buffer;
      hash.update(bytes);
      await target.writeFile(bytes);
      done(bytes.length);
    }
  } finally {
    await target.close();
  }
  return hash.digest('hex');
}

async function syncAll(partial: string, { files, folders }: MovePlan): Promise<void> {
  if (await syncFileSystem(partial)) return;
  await inParallel(files, FILES_AT_ONCE, ({ path }) => syncFile(join(partial, path)));
  for (const folder of ['', ...folders]) await syncFolder(join(partial, folder));
}

/** @throws MoveError if SQLite finds damage; RollbackDetectedError if the database does not agree with the head file */
async function verifyDatabase(partial: string, signal: AbortSignal): Promise<void> {
  const { ok, findings } = await checkDatabase({ folder: partial }, signal);
  if (!ok)
    throw new MoveError(
      `The database is damaged (${findings[0] ?? 'unknown'}). Repair it before you move the archive.`,
    );
  await inspectFolder(partial, checkHead);
  // Readers create it, and the next opening makes it anew.
  await rm(`${databaseFile(partial)}-shm`, { force: true });
}

/** Gives the complete copy its name. It cannot be opened yet. */
async function nameTarget(to: string): Promise<void> {
  await makeRoom(to);
  await rename(partialFolder(to), to);
  await syncFolder(dirname(to));
}

/** Removes what an interrupted move left, or an empty folder. Anything else was put there meanwhile, and stays. */
async function makeRoom(folder: string): Promise<void> {
  if (!existsSync(folder)) return;
  if (await isLeftOver(folder)) await removeUnfinished(folder);
  else throw new MoveError(`Something was put into ${folder} meanwhile.`);
}

/** The step that moves the archive. If the mark was written and only its sync failed, the archive is at the target. */
async function switchTo({ from }: MovePlan, move: Move): Promise<void> {
  try {
    await markMoved(from, move);
  } catch (error) {
    if (movedTo(from)?.id !== move.id) throw error;
    await syncFolder(from);
  }
}

function progressOf({ bytes }: MovePlan, progress: MoveOptions['progress']): (bytes: number) => void {
  const total = 2 * bytes;
  let done = 0;
  return (read) => progress((done += read), total);
}
