import type { ReadDatabase } from '../engine/open.ts';
import {
  change,
  inserts,
  selectAll,
  selectEach,
  selectOne,
  selectValue,
  selectValues,
} from '../engine/queries.ts';

/** The retrievals that one ledger entry `retrievals.recorded` covers; `root` is in hex. */
export interface RetrievalBatch {
  ledger_entry: number;
  first: number;
  last: number;
  root: string;
}

/** A retrieval with everything that its leaf is computed from. JSON columns are the stored text. */
export interface StoredRetrieval {
  id: number;
  /** The public id of the source; null if its row is missing. */
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
  part_of: string | null;
  connection: string | null;
  /** Its own id if it has a row in `captures`, else null. */
  captured: number | null;
  record_id: string | null;
  payload_digest: string | null;
}

/** The number of rows fetched in one call. */
const PAGE = 500;

/** Iterates over the retrievals after an id, in the order of their ids. */
export function* retrievalsAfter(database: ReadDatabase, after: number): Generator<StoredRetrieval> {
  yield* inPages(
    (from) => storedAfter(database, from),
    ({ id }) => id,
    after,
  );
}

const storedAfter = selectAll<StoredRetrieval, [id: number]>(`
  SELECT r.id, s.id AS source, r.round, r.url, r.final_url, r.redirects, r.observer, r.observed_at,
    r.original_observed_at, r.status, r.error, r.content_type, r.headers, r.request, r.sha256, r.bytes,
    r.duration_ms, r.page_label, r.part_of, r.connection, c.retrieval AS captured, c.record_id, c.payload_digest
  FROM retrievals r LEFT JOIN sources s ON s.key = r.source_key LEFT JOIN captures c ON c.retrieval = r.id
  WHERE r.id > ? ORDER BY r.id LIMIT ${PAGE}`);

interface KeptLeaf {
  retrieval: number;
  leaf: Buffer;
}

/** Iterates over the stored leaves after an id, in the order of their retrievals. */
export function* leavesAfter(database: ReadDatabase, after: number): Generator<KeptLeaf> {
  yield* inPages(
    (from) => keptAfter(database, from),
    ({ retrieval }) => retrieval,
    after,
  );
}

const keptAfter = selectAll<KeptLeaf, [retrieval: number]>(
  `SELECT retrieval, leaf FROM retrieval_leaves WHERE retrieval > ? ORDER BY retrieval LIMIT ${PAGE}`,
);

function* inPages<Row>(
  page: (after: number) => Row[],
  idOf: (row: Row) => number,
  after: number,
): Generator<Row> {
  for (let from = after; ; ) {
    const rows = page(from);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return;
    from = idOf(last);
  }
}

/** Returns the leaves of the retrievals `first` to `last`, in order. */
export const leavesBetween = selectValues<Buffer, [first: number, last: number]>(
  'SELECT leaf FROM retrieval_leaves WHERE retrieval BETWEEN ? AND ? ORDER BY retrieval',
);

export const insertLeaf = change<[retrieval: number, leaf: Buffer]>(
  'INSERT INTO retrieval_leaves (retrieval, leaf) VALUES (?, ?)',
);

export const insertBatch = inserts<RetrievalBatch>('retrieval_batches', 'ledger_entry, first, last, root');

/** Returns the batch that covers a retrieval, or undefined. */
export function batchOf(database: ReadDatabase, retrieval: number): RetrievalBatch | undefined {
  const batch = lastBatchFrom(database, retrieval);
  return batch && batch.last >= retrieval ? batch : undefined;
}

const lastBatchFrom = selectOne<RetrievalBatch, [retrieval: number]>(
  'SELECT * FROM retrieval_batches WHERE first <= ? ORDER BY first DESC LIMIT 1',
);

/** The ledger entry that covers a retrieval `r`, as an SQL column. */
export const COVERING_ENTRY = `(SELECT iif(b.last >= r.id, b.ledger_entry, NULL) FROM retrieval_batches b
  WHERE b.first <= r.id ORDER BY b.first DESC LIMIT 1) AS ledger_entry`;

/** Iterates over all batches, in ledger order. */
export const iterateBatches = selectEach<RetrievalBatch>(
  'SELECT ledger_entry, first, last, root FROM retrieval_batches ORDER BY ledger_entry',
);

/** Returns the id of the last covered retrieval, or 0. */
export function lastCovered(database: ReadDatabase): number {
  return lastCoveredBy(database, Number.MAX_SAFE_INTEGER);
}

/** Returns the id of the last retrieval that the first `size` entries of the ledger cover, or 0. */
export const lastCoveredBy = selectValue<number, [size: number]>(
  'SELECT last FROM retrieval_batches WHERE ledger_entry <= ? ORDER BY ledger_entry DESC LIMIT 1',
  0,
);

/** Returns the id of the last retrieval, or 0. */
export const lastRetrieval = selectValue<number>('SELECT id FROM retrievals ORDER BY id DESC LIMIT 1', 0);
