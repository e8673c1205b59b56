import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { isMissing } from './blobs/missing.ts';
import { databaseFile } from './blobs/paths.ts';

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

/**
 * Takes the one lock of a data folder, and gives back what releases it. The lock is SQLite's own file lock on an empty
 * database, so the system releases it when the process dies, however it dies.
 *
 * @throws FolderInUseError where another process, or this one, holds it; UnwritableFolderError.
 */
export function lockFolder(folder: string): () => void {
  for (const file of [folder, databaseFile(folder)]) requireWritable(file);
  const database = new Database(join(folder, 'lock'), { timeout: 0 });
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
  return () => {
    database.close();
  };
}

/** Asked first: SQLite opens what it may not write, and whoever writes later is told no more than that. */
function requireWritable(file: string): void {
  try {
    accessSync(file, constants.W_OK);
  } catch (error) {
    if (!isMissing(error)) throw new UnwritableFolderError(file, error);
  }
}
