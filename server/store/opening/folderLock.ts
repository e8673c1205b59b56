import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { databaseFile, isMissing } from '../files.ts';

/** Another node has the data folder open. */
export class FolderInUseError extends Error {
  constructor(folder: string) {
    super(
      `Another Strongroom has the data folder ${folder} open. Close it, or name another folder with --data.`,
    );
    this.name = 'FolderInUseError';
  }
}

/** The data folder cannot be written. */
class UnwritableFolderError extends Error {
  constructor(file: string, cause: unknown) {
    super(
      `Nothing can be written to ${file}. Give this account permission to write there, or name another folder with --data.`,
      { cause },
    );
    this.name = 'UnwritableFolderError';
  }
}

export interface FolderLock {
  /**
   * The identity of the lock file. Someone may remove the file while a node runs, and a second node would then lock a
   * new one. The database records the identity of its node's lock file; no new file can have the same identity as long
   * as that node runs.
   */
  id: string;
  release: () => void;
}

/**
 * Takes the lock of a data folder. It is SQLite's file lock on an empty database, so the system releases it when the
 * process ends, however it ends.
 *
 * @throws FolderInUseError if another process, or this one, holds it; UnwritableFolderError.
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

/** Waits this long for programs that read the database briefly. */
const BUSY_TIMEOUT_MS = 500;

/**
 * Checks that no process has the database open, by locking it exclusively. Used if the lock file is not the recorded
 * one. Changes no data, but SQLite copies a write-ahead log that nobody has open into the database.
 *
 * @throws FolderInUseError
 */
export function requireUnopened(folder: string): void {
  const database = new Database(databaseFile(folder), { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
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

/** Fails early with a clear error: SQLite opens a read-only file and fails at the first write. */
function requireWritable(file: string): void {
  try {
    accessSync(file, constants.W_OK);
  } catch (error) {
    if (!isMissing(error)) throw new UnwritableFolderError(file, error);
  }
}
