import Database from 'better-sqlite3';

/** Whether SQLite found that the database file is damaged, or that it is no database. */
export function isDatabaseDamage(error: unknown): error is Error {
  return error instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code);
}
