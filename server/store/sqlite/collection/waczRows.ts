import { type ReadDatabase, statement } from '../engine/open.ts';

/*
 * What a package is known to hold while it is written: temporary tables on the connection of its snapshot. SQLite keeps
 * them in a file, so that memory does not grow with the package.
 */

export function createPackageTables(database: ReadDatabase): void {
  database.exec(
    `CREATE TEMP TABLE package_index (line TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
     CREATE TEMP TABLE package_pages (retrieval INTEGER PRIMARY KEY, line TEXT NOT NULL) STRICT;
     CREATE TEMP TABLE package_retrievals (id INTEGER PRIMARY KEY) STRICT;
     CREATE TEMP TABLE package_entries (seq INTEGER PRIMARY KEY) STRICT`,
  );
}

export function addIndexLine(database: ReadDatabase, line: string): void {
  statement(database, 'INSERT OR IGNORE INTO temp.package_index (line) VALUES (?)').run(line);
}

/** Adds the page whose document a retrieval brought, or replaces what was known of it. */
export function setPageLine(database: ReadDatabase, retrieval: number, line: string): void {
  statement(database, 'INSERT OR REPLACE INTO temp.package_pages (retrieval, line) VALUES (?, ?)').run(
    retrieval,
    line,
  );
}

export function addRetrieval(database: ReadDatabase, id: number): void {
  statement(database, 'INSERT OR IGNORE INTO temp.package_retrievals (id) VALUES (?)').run(id);
}

/** Adds the ledger entries that record a retrieval and its events. */
export function addEntries(database: ReadDatabase, seqs: readonly number[]): void {
  for (const seq of seqs)
    statement(database, 'INSERT OR IGNORE INTO temp.package_entries (seq) VALUES (?)').run(seq);
}

const PAGE = 500;

/** Iterates over the lines of the index, sorted by their bytes. */
export function* indexLines(database: ReadDatabase): Generator<string> {
  const sql = `SELECT line FROM temp.package_index WHERE line > ? ORDER BY line LIMIT ${PAGE}`;
  for (let after = ''; ; ) {
    const lines = statement<{ line: string }>(database, sql).all(after);
    for (const { line } of lines) yield line;
    after = lines.at(-1)?.line ?? '';
    if (lines.length < PAGE) return;
  }
}

export function* pageLines(database: ReadDatabase): Generator<string> {
  const sql = `SELECT retrieval AS n, line FROM temp.package_pages WHERE retrieval > ?
    ORDER BY retrieval LIMIT ${PAGE}`;
  for (let after = 0; ; ) {
    const lines = statement<{ n: number; line: string }>(database, sql).all(after);
    for (const { line } of lines) yield line;
    after = lines.at(-1)?.n ?? 0;
    if (lines.length < PAGE) return;
  }
}

/** Iterates over the ids of the retrievals, in order. */
export function packagedRetrievals(database: ReadDatabase): Generator<number> {
  return numbers(database, 'SELECT id AS n FROM temp.package_retrievals WHERE id > ? ORDER BY id');
}

/** Iterates over the numbers of the ledger entries, in order. */
export function packagedEntries(database: ReadDatabase): Generator<number> {
  return numbers(database, 'SELECT seq AS n FROM temp.package_entries WHERE seq > ? ORDER BY seq');
}

function* numbers(database: ReadDatabase, sql: string): Generator<number> {
  for (let after = 0; ; ) {
    const rows = statement<{ n: number }>(database, `${sql} LIMIT ${PAGE}`).all(after);
    for (const { n } of rows) yield n;
    after = rows.at(-1)?.n ?? 0;
    if (rows.length < PAGE) return;
  }
}
