import { join } from 'node:path';
import Database from 'better-sqlite3';

/** Another node has this data folder open. */
export class FolderInUseError extends Error {
  constructor(folder: string) {
    super(
      `Another Strongroom has the data folder ${folder} open. Close it, or give another folder with --data.`,
    );
    this.name = 'FolderInUseError';
  }
}

/**
 * Takes the one lock of a data folder, and gives back what releases it. The lock is SQLite's own file lock on an empty
 * database, so the system releases it when the process dies, however it dies.
 *
 * @throws FolderInUseError where another process, or this one, holds it.
 */
export function lockFolder(folder: string): () => void {
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
