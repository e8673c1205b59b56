import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { isMissing } from '../blobs/fileErrors.ts';
import { databaseFile } from '../blobs/paths.ts';

/** Another node has this data folder open. */
export class FolderInUseError extends Error {
  constructor(folder: string) {
    super(
      `Another Strongroom has the data folder ${folder} open. Close it, or give another folder with --data.`,
    );
    this.name = 'FolderInUseError';
  }
}

/** This account, or the disk, lets nothing be written where a node must write. */
export class UnwritableFolderError extends Error {
  constructor(file: string, cause: unknown) {
    super(
      `Nothing can be written to ${file}. Give this account the right to write there, or give another folder with --data.`,
      { cause },
    );
    this.name = 'UnwritableFolderError';
  }
}

export interface FolderLock {
  /**
   * Which file it is. Whoever removes the file lets another one be locked; the database remembers which one its node
   * locked, and as long as that node runs, no new file can be this one.
   */
  id: string;
  release: () => void;
}

/**
 * Takes the one lock of a data folder. The lock is SQLite's own file lock on an empty database, so the system releases
 * it when the process dies, however it dies.
 *
 * @throws FolderInUseError where another process, or this one, holds it; UnwritableFolderError.
 */
export function lockFolder(folder: string): FolderLock {
  for (const file of [folder, databaseFile(folder)]) requireWritable(file);
  const file = join(folder, 'lock');
  const database = new Database(file, { timeout: 0 });
  try {
    database.pragma('journal_mode = MEMORY');
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) {
      throw new FolderInUseError(folder);
    }
    throw error;
  }
  const { dev, ino } = statSync(file, { bigint: true });
  return { id: `${dev}:${ino}`, release: () => void database.close() };
}

/** Who looks into a database for a moment is gone after this. */
const LOOK_MS = 500;

/**
 * Asked where the lock may be another file than the one that a running node holds: whoever has the database open, to
 * read or to write, keeps it from being locked whole. Nothing is changed; a log that nobody has open any more is copied
 * into the database.
 *
 * @throws FolderInUseError
 */
export function requireUnopened(folder: string): void {
  const database = new Database(databaseFile(folder), { fileMustExist: true, timeout: LOOK_MS });
  try {
    database.pragma('locking_mode = EXCLUSIVE');
    database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get();
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY'))
      throw new FolderInUseError(folder);
    throw error;
  } finally {
    database.close();
  }
}

/** Asked first: SQLite opens what it may not write, and whoever writes later is told no more than that. */
function requireWritable(file: string): void {
  try {
    accessSync(file, constants.W_OK);
  } catch (error) {
    if (!isMissing(error)) throw new UnwritableFolderError(file, error);
  }
}
