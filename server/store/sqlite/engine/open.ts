import Database from 'better-sqlite3';

declare const readable: unique symbol;
declare const writable: unique symbol;

/** A connection that may be read; SQLite itself refuses a write on it unless it is a `WriteDatabase`. */
export type ReadDatabase = Database.Database & { readonly [readable]: true };
/** The one connection that may be written, and only inside a change given to `Writer.write`. */
export type WriteDatabase = ReadDatabase & { readonly [writable]: true };

/** How long a connection waits for another's lock; checkpoints are the only contenders. */
const BUSY_TIMEOUT_MS = 5_000;

/** Pages (of 4 KB) in the log beyond which the writing connection copies them itself; see `Checkpointer`. */
const MOST_PAGES_IN_LOG = 16_384;
/** A log that grew beyond this gives the room back when it is begun anew, so that its size tells what is in it. */
const USUAL_LOG_BYTES = 16_777_216;

/**
 * Pages that the writing connection holds at the most, in KB. Rows named by digests land all over their indexes: with
 * SQLite's own 2 MB, an import of thousands of objects writes the same pages to the log many times over.
 */
const CACHE_KB = 32_768;

/**
 * Opens the writing connection: WAL, and `synchronous=FULL` so that a commit is on stable storage when it returns
 * (https://sqlite.org/pragma.html#pragma_synchronous); `DurableCommit` takes that over.
 */
export function openForWriting(file: string): WriteDatabase {
  const database = new Database(file, { timeout: BUSY_TIMEOUT_MS });
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.pragma(`wal_autocheckpoint = ${MOST_PAGES_IN_LOG}`);
  database.pragma(`journal_size_limit = ${USUAL_LOG_BYTES}`);
  database.pragma('foreign_keys = ON');
  database.pragma('trusted_schema = OFF');
  // What a savepoint would have to restore is kept in memory: on disk it is a file for every shared transaction.
  database.pragma('temp_store = MEMORY');
  database.pragma(`cache_size = -${CACHE_KB}`);
  return database as WriteDatabase;
}

/** As much of the file is mapped into memory: reading it then copies nothing. */
const MAPPED_BYTES = 268_435_456;

/**
 * Opens a reading connection; each worker thread opens its own.
 *
 * @param isMapped whether the file is mapped into memory. What is read once from end to end is better not: each page of
 * it would count as this process's memory until the system wants it back.
 */
export function openForReading(file: string, { isMapped = true } = {}): ReadDatabase {
  const database = new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  database.pragma('trusted_schema = OFF');
  database.pragma(`mmap_size = ${isMapped ? MAPPED_BYTES : 0}`);
  return database as ReadDatabase;
}

const prepared = new WeakMap<Database.Database, Map<string, Database.Statement>>();

/** The statement of this SQL on this connection, prepared once. `Row` is what the SQL selects. */
export function statement<Row = unknown>(
  database: ReadDatabase,
  sql: string,
): Database.Statement<unknown[], Row> {
  let statements = prepared.get(database);
  if (!statements) {
    statements = new Map();
    prepared.set(database, statements);
  }
  let found = statements.get(sql);
  if (!found) {
    found = database.prepare(sql);
    statements.set(sql, found);
  }
  return found as Database.Statement<unknown[], Row>;
}
