import Database from 'better-sqlite3';

/** Whether SQLite reports that the database file is damaged or is not a database. */
export function isDatabaseDamage(error: unknown): error is Error {
  return error instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code);
}
