import type { Connection, SentRequest } from '../../../../shared/collection/retrieval.ts';
import type { ReadDatabase } from '../engine/open.ts';
import { changeTemporary, selectAll, selectOne, selectValue, selectValues } from '../engine/queries.ts';
import { type NewRetrieval, parseRetrieval, type RetrievalTexts } from './retrievals.ts';

/** A retrieval with its source, for a WARC export. */
export interface WarcRow extends NewRetrieval {
  id: number;
  source: string;
  source_url: string;
  part_of: string | null;
  request: SentRequest | null;
  connection: Connection | null;
}

/** Selects the retrievals of an export; null means all. Both times are inclusive. */
export interface WarcFilter {
  source_key: number | null;
  since: string | null;
  until: string | null;
}

/** The record with the bytes of an object, to which later records refer. */
export interface WrittenObject {
  retrieval: number;
  record: string;
  url: string;
  date: string;
}

/** The number of retrievals read at a time. */
const PAGE = 100;
const END = '\uffff';

const COLUMNS = `r.id, r.source_key, s.id AS source, s.url AS source_url, r.round, r.url, r.final_url, r.redirects,
  r.observer, r.observed_at, r.original_observed_at, r.status, r.error, r.content_type, r.headers, r.request, r.sha256,
  r.bytes, r.duration_ms, r.page_label, r.part_of, r.connection`;

type Stored = Omit<WarcRow, keyof RetrievalTexts> & RetrievalTexts;

/** Iterates over the retrievals of an export, in the order in which they were made; reads page by page. */
export function* iterateWarcRows(database: ReadDatabase, filter: WarcFilter): Generator<WarcRow> {
  const since = filter.since ?? '';
  const until = filter.until ?? END;
  let [observed_at, id] = [since, 0];
  for (;;) {
    const page =
      filter.source_key === null
        ? pageByTime(database, { observed_at, id, until })
        : pageOfSource(database, { source_key: filter.source_key, id });
    for (const row of page)
      if (row.observed_at >= since && row.observed_at <= until) yield parseRetrieval(row);
    const last = page.at(-1);
    if (!last || page.length < PAGE) return;
    [observed_at, id] = [last.observed_at, last.id];
  }
}

const pageByTime = selectAll<Stored, [place: { observed_at: string; id: number; until: string }]>(`
  SELECT ${COLUMNS} FROM retrievals r INDEXED BY retrievals_by_time JOIN sources s ON s.key = r.source_key
  WHERE (r.observed_at, r.id) > ($observed_at, $id) AND r.observed_at <= $until
  ORDER BY r.observed_at, r.id LIMIT ${PAGE}`);

const pageOfSource = selectAll<Stored, [place: { source_key: number; id: number }]>(`
  WITH page AS (
    SELECT * FROM (SELECT id FROM retrievals INDEXED BY retrievals_by_source
      WHERE source_key = $source_key AND id > $id AND part_of IS NULL ORDER BY id LIMIT ${PAGE})
    UNION ALL SELECT * FROM (SELECT id FROM retrievals INDEXED BY parts_by_source
      WHERE source_key = $source_key AND id > $id AND part_of IS NOT NULL ORDER BY id LIMIT ${PAGE}))
  SELECT ${COLUMNS} FROM page CROSS JOIN retrievals r ON r.id = page.id JOIN sources s ON s.key = r.source_key
  ORDER BY r.id LIMIT ${PAGE}`);

/** Returns the last earlier retrieval of the same source that received the object of a 304 response. */
export function attemptWithBody(database: ReadDatabase, row: WarcRow): WarcRow | undefined {
  return earlierWithBody(database, { sha256: row.sha256, source_key: row.source_key, id: row.id });
}

const earlierWithBody = selectOne<
  Stored,
  [row: { sha256: string | null; source_key: number; id: number }],
  WarcRow
>(
  `SELECT ${COLUMNS} FROM retrievals r JOIN sources s ON s.key = r.source_key
   WHERE r.sha256 = $sha256 AND r.source_key = $source_key AND r.id < $id AND r.status IS NOT 304
     AND r.part_of IS NULL
   ORDER BY r.id DESC LIMIT 1`,
  parseRetrieval,
);

/** Returns the events that a retrieval caused, in the order of their ids, with their ledger entries. */
export const eventsOfAttempt = selectAll<
  { id: number; event_type: string; ledger_entry: number },
  [row: Pick<WarcRow, 'source_key' | 'observed_at' | 'id'>]
>(`
  SELECT id, event_type, ledger_entry FROM events INDEXED BY events_by_source
  WHERE source_key = $source_key AND observed_at = $observed_at AND retrieval = $id ORDER BY id`);

/** Returns when the newest retrieval was made. */
export const newestAttemptAt = selectValue<string>('SELECT max(observed_at) AS at FROM retrievals');

/** Creates a temporary table, on this connection only, for the records in which objects were written. */
export function createWrittenObjectsTable(database: ReadDatabase): void {
  database.exec(
    `CREATE TEMP TABLE written_objects (sha256 TEXT PRIMARY KEY, retrieval INTEGER NOT NULL, record TEXT NOT NULL,
       url TEXT NOT NULL, date TEXT NOT NULL) STRICT, WITHOUT ROWID`,
  );
}

export const insertWrittenObject = changeTemporary<[written: WrittenObject & { sha256: string }]>(
  'INSERT INTO temp.written_objects VALUES ($sha256, $retrieval, $record, $url, $date)',
);

export const writtenObject = selectOne<WrittenObject, [sha256: string]>(
  'SELECT retrieval, record, url, date FROM temp.written_objects WHERE sha256 = ?',
);

/*
 * What a package is known to hold while it is written: temporary tables on the connection of its snapshot. SQLite keeps
 * them in a file, so that memory does not grow with the package.
 */

export function createPackageTables(database: ReadDatabase): void {
  database.exec(
    `CREATE TEMP TABLE package_index (line TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
     CREATE TEMP TABLE package_pages (retrieval INTEGER PRIMARY KEY, line TEXT NOT NULL, text TEXT) STRICT;
     CREATE TEMP TABLE package_retrievals (id INTEGER PRIMARY KEY) STRICT;
     CREATE TEMP TABLE package_entries (seq INTEGER PRIMARY KEY) STRICT`,
  );
}

export const addIndexLine = changeTemporary<[line: string]>(
  'INSERT OR IGNORE INTO temp.package_index (line) VALUES (?)',
);

/** Adds the page whose document a retrieval brought, or replaces what was known of it. `text` is the digest of its text. */
export const setPageLine = changeTemporary<[retrieval: number, line: string, text: string | null]>(
  'INSERT OR REPLACE INTO temp.package_pages (retrieval, line, text) VALUES (?, ?, ?)',
);

export const addRetrieval = changeTemporary<[id: number]>(
  'INSERT OR IGNORE INTO temp.package_retrievals (id) VALUES (?)',
);

/** Adds the ledger entries that record a retrieval and its events. */
export function addEntries(database: ReadDatabase, seqs: readonly number[]): void {
  for (const seq of seqs) addEntry(database, seq);
}

const addEntry = changeTemporary<[seq: number]>(
  'INSERT OR IGNORE INTO temp.package_entries (seq) VALUES (?)',
);

const LINES_AT_ONCE = 500;

/** Iterates over the lines of the index, sorted by their bytes. */
export function* indexLines(database: ReadDatabase): Generator<string> {
  for (let after = ''; ; ) {
    const lines = indexLinesAfter(database, after);
    yield* lines;
    after = lines.at(-1) ?? '';
    if (lines.length < LINES_AT_ONCE) return;
  }
}

const indexLinesAfter = selectValues<string, [line: string]>(
  `SELECT line FROM temp.package_index WHERE line > ? ORDER BY line LIMIT ${LINES_AT_ONCE}`,
);

export function* pageLines(database: ReadDatabase): Generator<PageLine> {
  yield* inOrder(database, pageLinesAfter);
}

interface PageLine {
  n: number;
  line: string;
  text: string | null;
}

const pageLinesAfter = selectAll<PageLine, [retrieval: number]>(
  `SELECT retrieval AS n, line, text FROM temp.package_pages WHERE retrieval > ? ORDER BY retrieval LIMIT ${LINES_AT_ONCE}`,
);

/** Iterates over the ids of the retrievals, in order. */
export function* packagedRetrievals(database: ReadDatabase): Generator<number> {
  for (const { n } of inOrder(database, retrievalsAfter)) yield n;
}

const retrievalsAfter = selectAll<{ n: number }, [id: number]>(
  `SELECT id AS n FROM temp.package_retrievals WHERE id > ? ORDER BY id LIMIT ${LINES_AT_ONCE}`,
);

/** Iterates over the numbers of the ledger entries, in order. */
export function* packagedEntries(database: ReadDatabase): Generator<number> {
  for (const { n } of inOrder(database, entriesAfter)) yield n;
}

const entriesAfter = selectAll<{ n: number }, [seq: number]>(
  `SELECT seq AS n FROM temp.package_entries WHERE seq > ? ORDER BY seq LIMIT ${LINES_AT_ONCE}`,
);

function* inOrder<Row extends { n: number }>(
  database: ReadDatabase,
  rowsAfter: (database: ReadDatabase, n: number) => Row[],
): Generator<Row> {
  for (let after = 0; ; ) {
    const rows = rowsAfter(database, after);
    yield* rows;
    after = rows.at(-1)?.n ?? 0;
    if (rows.length < LINES_AT_ONCE) return;
  }
}
