import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

/** What one ledger entry `retrievals.recorded` covers; `root` is in hex. */
export interface RetrievalBatch {
  ledger_entry: number;
  first: number;
  last: number;
  root: string;
}

/** A retrieval with all that its leaf is made of: what JSON there is as the text that is stored. */
export interface StoredRetrieval {
  id: number;
  /** The source's public id; null where there is no such source any more. */
  source: string | null;
  round: number | null;
  url: string;
  final_url: string;
  redirects: string;
  observer: string;
  observed_at: string;
  original_observed_at: string | null;
  status: number | null;
  error: string | null;
  content_type: string | null;
  headers: string;
  request: string | null;
  sha256: string | null;
  bytes: number | null;
  duration_ms: number;
  page_label: string | null;
  /** Its own number where it has a row in `captures`, else null. */
  captured: number | null;
  record_id: string | null;
  payload_digest: string | null;
}

/** So many rows are fetched in one call. */
const PAGE = 500;

/** The retrievals after a number, in the order of their numbers. */
export function* retrievalsAfter(database: ReadDatabase, after: number): Generator<StoredRetrieval> {
  const page = statement<StoredRetrieval>(
    database,
    `SELECT r.id, s.id AS source, r.round, r.url, r.final_url, r.redirects, r.observer, r.observed_at,
       r.original_observed_at, r.status, r.error, r.content_type, r.headers, r.request, r.sha256, r.bytes,
       r.duration_ms, r.page_label, c.retrieval AS captured, c.record_id, c.payload_digest
     FROM retrievals r LEFT JOIN sources s ON s.key = r.source_key LEFT JOIN captures c ON c.retrieval = r.id
     WHERE r.id > ? ORDER BY r.id LIMIT ${PAGE}`,
  );
  yield* inPages(
    (from) => page.all(from),
    ({ id }) => id,
    after,
  );
}

export interface KeptLeaf {
  retrieval: number;
  leaf: Buffer;
}

/** The leaves that are kept, in the order of the retrievals' numbers. */
export function* leavesAfter(database: ReadDatabase, after: number): Generator<KeptLeaf> {
  const page = statement<KeptLeaf>(
    database,
    `SELECT retrieval, leaf FROM retrieval_leaves WHERE retrieval > ? ORDER BY retrieval LIMIT ${PAGE}`,
  );
  yield* inPages(
    (from) => page.all(from),
    ({ retrieval }) => retrieval,
    after,
  );
}

function* inPages<Row>(
  page: (after: number) => Row[],
  numberOf: (row: Row) => number,
  after: number,
): Generator<Row> {
  for (let from = after; ; ) {
    const rows = page(from);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return;
    from = numberOf(last);
  }
}

/** The leaves of the retrievals `first` to `last`, in order. */
export function leavesBetween(database: ReadDatabase, first: number, last: number): Buffer[] {
  return statement<{ leaf: Buffer }>(
    database,
    'SELECT leaf FROM retrieval_leaves WHERE retrieval BETWEEN ? AND ? ORDER BY retrieval',
  )
    .all(first, last)
    .map(({ leaf }) => leaf);
}

export function insertLeaf(database: WriteDatabase, retrieval: number, leaf: Buffer): void {
  statement(database, 'INSERT INTO retrieval_leaves (retrieval, leaf) VALUES (?, ?)').run(retrieval, leaf);
}

export function insertBatch(database: WriteDatabase, batch: RetrievalBatch): void {
  statement(
    database,
    'INSERT INTO retrieval_batches (ledger_entry, first, last, root) VALUES (@ledger_entry, @first, @last, @root)',
  ).run(batch);
}

/** The batch that covers a retrieval, or undefined where none does. */
export function batchOf(database: ReadDatabase, retrieval: number): RetrievalBatch | undefined {
  const batch = statement<RetrievalBatch>(
    database,
    'SELECT * FROM retrieval_batches WHERE first <= ? ORDER BY first DESC LIMIT 1',
  ).get(retrieval);
  return batch && batch.last >= retrieval ? batch : undefined;
}

/** The entry that covers a retrieval `r`, as an SQL column. */
export const COVERING_ENTRY = `(SELECT iif(b.last >= r.id, b.ledger_entry, NULL) FROM retrieval_batches b
  WHERE b.first <= r.id ORDER BY b.first DESC LIMIT 1) AS ledger_entry`;

/** Every batch, in the order of the ledger. */
export function iterateBatches(database: ReadDatabase): IterableIterator<RetrievalBatch> {
  return statement<RetrievalBatch>(
    database,
    'SELECT ledger_entry, first, last, root FROM retrieval_batches ORDER BY ledger_entry',
  ).iterate();
}

/** The number of the last retrieval that is covered, 0 where none is. */
export function lastCovered(database: ReadDatabase): number {
  return (
    statement<{ last: number }>(
      database,
      'SELECT last FROM retrieval_batches ORDER BY first DESC LIMIT 1',
    ).get()?.last ?? 0
  );
}

/** The number of the last retrieval, 0 where there is none. */
export function lastRetrieval(database: ReadDatabase): number {
  return (
    statement<{ id: number }>(database, 'SELECT id FROM retrievals ORDER BY id DESC LIMIT 1').get()?.id ?? 0
  );
}

/**
 * The last of the retrievals that are older than the ledger's covering them, and wait to be covered; 0 for none. Once
 * anything is covered, nothing older waits any more, whatever the counter says.
 */
export function lastToCover(database: ReadDatabase): number {
  return (
    statement<{ value: number }>(
      database,
      `SELECT value FROM counters WHERE name = 'retrievals_to_cover'
       AND NOT EXISTS (SELECT 1 FROM retrieval_batches)`,
    ).get()?.value ?? 0
  );
}

export function setLastToCover(database: WriteDatabase, last: number): void {
  statement(database, "UPDATE counters SET value = ? WHERE name = 'retrievals_to_cover'").run(last);
}
