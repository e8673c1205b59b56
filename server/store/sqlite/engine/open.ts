import Database from 'better-sqlite3';
import { isDatabaseDamage } from '../../storageErrors.ts';

declare const readable: unique symbol;
declare const writable: unique symbol;

/** A connection for reading. SQLite refuses writes on it, unless it is a `WriteDatabase`. */
export type ReadDatabase = Database.Database & { readonly [readable]: true };
/** The one connection for writing. Write only inside a change passed to `Writer.write`. */
export type WriteDatabase = ReadDatabase & { readonly [writable]: true };

/** How long a connection waits for the lock of another. Only checkpoints compete for it. */
export const BUSY_TIMEOUT_MS = 5_000;

/** The number of pages (of 4 KB) in the log from which the writing connection checkpoints itself; see `Checkpointer`. */
const AUTOCHECKPOINT_PAGES = 16_384;
/** A longer log is truncated to this size when it starts over, so that its size reflects its content. */
const LOG_SIZE_LIMIT_BYTES = 16_777_216;

/**
 * The page cache of the writing connection, in KB. Rows keyed by digests are spread over their indexes. With SQLite's
 * default of 2 MB, an import of thousands of objects writes the same pages to the log many times.
 */
const CACHE_KB = 32_768;

/**
 * Opens the writing connection in WAL mode, with `synchronous=FULL`, so that a commit is on stable storage when it
 * returns (https://sqlite.org/pragma.html#pragma_synchronous). `DurableCommit` syncs the commits of a running node itself.
 */
export function openForWriting(file: string, { isNew = true } = {}): WriteDatabase {
  const database = new Database(file, { fileMustExist: !isNew, timeout: BUSY_TIMEOUT_MS });
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.pragma(`wal_autocheckpoint = ${AUTOCHECKPOINT_PAGES}`);
  database.pragma(`journal_size_limit = ${LOG_SIZE_LIMIT_BYTES}`);
  database.pragma('foreign_keys = ON');
  database.pragma('trusted_schema = OFF');
  // Keeps the undo data of savepoints in memory. On disk, each shared transaction would create a file.
  database.pragma('temp_store = MEMORY');
  // What is deleted is overwritten at once, also what a merge of the index of texts leaves, long before a release of a text.
  database.pragma('secure_delete = ON');
  database.pragma(`cache_size = -${CACHE_KB}`);
  return database as WriteDatabase;
}

/**
 * Opens a read-only connection. Each worker thread opens its own. The file is not mapped into memory: a page that the disk
 * cannot read would then end the process by SIGBUS, where SQLite else returns an error.
 */
export function openForReading(file: string): ReadDatabase {
  const database = new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  database.pragma('trusted_schema = OFF');
  database.pragma('mmap_size = 0');
  return database as ReadDatabase;
}

/**
 * Opens a file of its own for what is needed until it is closed. Nothing is synced, because it is useless after a crash.
 *
 * @param tables what creates its tables, as SQL
 */
export function openScratch(file: string, tables: string): WriteDatabase {
  const database = new Database(file);
  database.pragma('page_size = 16384');
  database.pragma('journal_mode = OFF');
  database.pragma('synchronous = OFF');
  database.exec(`${tables}; BEGIN`);
  return database as WriteDatabase;
}

const prepared = new WeakMap<Database.Database, Map<string, Database.Statement>>();

/** Returns the prepared statement for this SQL; it is prepared once for each connection. `Row` is the type of its rows. */
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

/**
 * Runs SQLite's integrity check and a check for references to missing rows. Returns at most `most` findings, none for
 * an intact database. Reads the whole file, so call it in a worker.
 */
export function integrityFindings(database: ReadDatabase, most: number): string[] {
  try {
    const rows = statement<{ integrity_check: string }>(database, `PRAGMA integrity_check(${most})`).all();
    const lines = rows.flatMap(({ integrity_check }) => integrity_check.split('\n'));
    const found = lines.filter((line) => line !== 'ok' && !line.startsWith('*** in database'));
    return (found.length > 0 ? found : missingRows(database)).slice(0, most);
  } catch (error) {
    if (isDatabaseDamage(error)) return [error.message];
    throw error;
  }
}

/** Finds references to missing rows. A blob without its row is not served and looks unreferenced. */
function missingRows(database: ReadDatabase): string[] {
  const broken = statement<{ table: string; parent: string; rows: number }>(
    database,
    'SELECT "table", parent, count(*) AS rows FROM pragma_foreign_key_check GROUP BY "table", parent',
  ).all();
  const unnamed = statement<{ rows: number }>(
    database,
    `SELECT count(*) AS rows FROM retrievals r WHERE sha256 IS NOT NULL
     AND NOT EXISTS (SELECT 1 FROM objects o WHERE o.sha256 = r.sha256)`,
  ).get();
  const objects = { table: 'retrievals', parent: 'objects', rows: unnamed?.rows ?? 0 };
  return [...broken, objects]
    .filter(({ rows }) => rows > 0)
    .map(({ table, parent, rows }) => `rows missing in ${parent} that ${table} refers to: ${rows}`);
}
