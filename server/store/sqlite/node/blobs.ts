import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

/** Names a blob that lies in the blob folder already; a second naming is no change. */
export function createBlobRowIfAbsent(
  database: WriteDatabase,
  blob: { sha256: string; bytes: number; stored_at: string },
): void {
  statement(
    database,
    'INSERT INTO blobs (sha256, bytes, stored_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  ).run(blob.sha256, blob.bytes, blob.stored_at);
}

/** The size of a blob that a row names, or undefined. */
export function blobBytes(database: ReadDatabase, sha256: string): number | undefined {
  return statement<{ bytes: number }>(database, 'SELECT bytes FROM blobs WHERE sha256 = ?').get(sha256)
    ?.bytes;
}

/** A blob that a row names, or undefined. */
export function blobRow(
  database: ReadDatabase,
  sha256: string,
): { sha256: string; bytes: number; stored_at: string } | undefined {
  return statement<{ sha256: string; bytes: number; stored_at: string }>(
    database,
    'SELECT sha256, bytes, stored_at FROM blobs WHERE sha256 = ?',
  ).get(sha256);
}

export type CounterName =
  | 'blob_bytes'
  | 'sources'
  | 'observations'
  | 'archived_objects'
  | 'derived_documents'
  | 'damages'
  | 'damaged_objects';

/** A running count, kept by triggers in the same transaction as what it counts. */
export function counter(database: ReadDatabase, name: CounterName): number {
  return (
    statement<{ value: number }>(database, 'SELECT value FROM counters WHERE name = ?').get(name)?.value ?? 0
  );
}

/** Every blob that a row names, in the order of the digests. */
export function iterateBlobRows(database: ReadDatabase): IterableIterator<{ sha256: string; bytes: number }> {
  return statement<{ sha256: string; bytes: number }>(
    database,
    'SELECT sha256, bytes FROM blobs ORDER BY sha256',
  ).iterate();
}

/** The blobs that rows name after a digest, in the order of the digests. */
export function blobRowsAfter(
  database: ReadDatabase,
  after: string,
  limit: number,
): { sha256: string; bytes: number }[] {
  return statement<{ sha256: string; bytes: number }>(
    database,
    'SELECT sha256, bytes FROM blobs WHERE sha256 > ? ORDER BY sha256 LIMIT ?',
  ).all(after, limit);
}
