import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

/** Inserts the row of a blob whose file is durable. Does nothing if the row exists. */
export function createBlobRowIfAbsent(
  database: WriteDatabase,
  blob: { sha256: string; bytes: number; stored_at: string },
): void {
  statement(
    database,
    'INSERT INTO blobs (sha256, bytes, stored_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  ).run(blob.sha256, blob.bytes, blob.stored_at);
}

/** Returns the size of a blob from its row, or undefined. */
export function blobBytes(database: ReadDatabase, sha256: string): number | undefined {
  return statement<{ bytes: number }>(database, 'SELECT bytes FROM blobs WHERE sha256 = ?').get(sha256)
    ?.bytes;
}

/** Returns the row of a blob, or undefined. */
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

/** Returns a count that triggers maintain in the same transaction as the rows. */
export function counter(database: ReadDatabase, name: CounterName): number {
  return (
    statement<{ value: number }>(database, 'SELECT value FROM counters WHERE name = ?').get(name)?.value ?? 0
  );
}

/** Iterates over the rows of all blobs, in the order of their digests. */
export function iterateBlobRows(database: ReadDatabase): IterableIterator<{ sha256: string; bytes: number }> {
  return statement<{ sha256: string; bytes: number }>(
    database,
    'SELECT sha256, bytes FROM blobs ORDER BY sha256',
  ).iterate();
}

/** Returns the rows of blobs after a digest, in the order of their digests. */
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
