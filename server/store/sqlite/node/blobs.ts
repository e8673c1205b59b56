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

/** A digest that the archive has, with the newest pack and the first source that name it. */
export interface FoundDigestRow {
  sha256: string;
  bytes: number;
  pack: string | null;
  path: string | null;
  source: string | null;
  url: string | null;
}

/** Returns which of these digests have a blob, and where. Each is a look-up in three indexes. */
export function findDigests(database: ReadDatabase, digests: readonly string[]): FoundDigestRow[] {
  return statement<FoundDigestRow>(
    database,
    `SELECT b.sha256, b.bytes, p.id AS pack, f.path, s.id AS source, s.url
     FROM json_each(?) j CROSS JOIN blobs b ON b.sha256 = j.value
     LEFT JOIN pack_files f ON (f.pack, f.path) = (SELECT o.pack, o.path FROM pack_files o
       WHERE o.sha256 = b.sha256 ORDER BY o.pack DESC LIMIT 1)
     LEFT JOIN packs p ON p.ledger_entry = f.pack
     LEFT JOIN retrievals r ON r.id = (SELECT min(id) FROM retrievals o WHERE o.sha256 = b.sha256)
     LEFT JOIN sources s ON s.key = r.source_key`,
  ).all(JSON.stringify(digests));
}

export type CounterName =
  | 'blob_bytes'
  | 'sources'
  | 'observations'
  | 'archived_objects'
  | 'derived_documents'
  | 'damages'
  | 'damaged_objects'
  | 'offloaded_objects'
  | 'offloaded_bytes';

/** Returns a count that triggers maintain in the same transaction as the rows. */
export function counter(database: ReadDatabase, name: CounterName): number {
  return (
    statement<{ value: number }>(database, 'SELECT value FROM counters WHERE name = ?').get(name)?.value ?? 0
  );
}

/** Returns the bytes of all blobs but those that have left this disk. */
export function bytesHere(database: ReadDatabase): number {
  return (
    statement<number>(
      database,
      `SELECT sum(iif(name = 'blob_bytes', value, -value)) FROM counters
       WHERE name IN ('blob_bytes', 'offloaded_bytes')`,
    )
      .pluck()
      .get() ?? 0
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
