import Database from 'better-sqlite3';
import { Problem } from '../../shared/problems.ts';
import { errorCode } from '../../shared/values/errorCode.ts';

/** The error of all writes after a commit with an unknown outcome. */
export function storageFailed(cause: unknown): Problem {
  return new Problem(
    'storage_failed',
    'The disk failed while writing, so it is unknown what was stored. Check the disk, then restart the node.',
    { cause },
  );
}

/** Whether SQLite failed because the disk is full. */
export function isFull(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code === 'SQLITE_FULL';
}

/** Whether SQLite failed because of the disk or the database file, not because of the change. */
export function isStorageError(error: unknown): boolean {
  return (
    error instanceof Database.SqliteError &&
    /^SQLITE_(FULL|IOERR|CORRUPT|NOTADB|CANTOPEN|PROTOCOL)/.test(error.code)
  );
}

/** Whether SQLite reports that the database file is damaged or is not a database. */
export function isDatabaseDamage(error: unknown): error is Error {
  return error instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code);
}

const STORAGE_PROBLEMS: ReadonlySet<string> = new Set([
  'storage_failed',
  'disk_nearly_full',
  'data_folder_away',
  'clock_ahead',
]);

/** Whether an error means that the disk has failed, is full or is away, or the clock is ahead: the next write would fail too. */
export function isStorageFailure(error: unknown): boolean {
  if (error instanceof Problem) return STORAGE_PROBLEMS.has(error.code);
  const code = errorCode(error) ?? '';
  return /^(ENOSPC|EDQUOT|EIO|EROFS|SQLITE_(FULL|IOERR|CORRUPT|NOTADB|CANTOPEN))/.test(code);
}
