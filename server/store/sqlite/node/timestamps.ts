import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

/** A timestamp as the list shows it. `root` is in hex. */
export interface TimestampRow {
  id: string;
  authority: string;
  at: string;
  size: number;
  root: string;
  serial: string;
}

/** A timestamp with what proves it. */
export interface StoredTimestamp extends TimestampRow {
  received_at: string;
  text: string;
  reply: Buffer;
}

const LISTED = 'id, authority, at, size, root, serial';

export function insertTimestamp(database: WriteDatabase, timestamp: StoredTimestamp): void {
  statement(
    database,
    `INSERT INTO timestamps (id, authority, at, received_at, size, root, serial, text, reply)
     VALUES (@id, @authority, @at, @received_at, @size, @root, @serial, @text, @reply)`,
  ).run(timestamp);
}

/** Returns a page of timestamps, newest first, and their total number. */
export function timestampsPage(
  database: ReadDatabase,
  { limit, offset }: { limit: number; offset: number },
): { items: TimestampRow[]; total: number } {
  const items = statement<TimestampRow>(
    database,
    `SELECT ${LISTED} FROM timestamps ORDER BY size DESC, at DESC, id LIMIT ? OFFSET ?`,
  ).all(limit, offset);
  const total = statement<{ total: number }>(database, 'SELECT count(*) AS total FROM timestamps').get();
  return { items, total: total?.total ?? 0 };
}

export function timestampById(database: ReadDatabase, id: string): StoredTimestamp | undefined {
  return statement<StoredTimestamp>(database, 'SELECT * FROM timestamps WHERE id = ?').get(id);
}

/** Returns the newest timestamp of an authority: the size it covers, and when it arrived. */
export function newestOfAuthority(
  database: ReadDatabase,
  authority: string,
): Pick<StoredTimestamp, 'size' | 'received_at'> | undefined {
  return statement<Pick<StoredTimestamp, 'size' | 'received_at'>>(
    database,
    'SELECT size, received_at FROM timestamps WHERE authority = ? ORDER BY received_at DESC LIMIT 1',
  ).get(authority);
}

/** Iterates over all timestamps, smallest ledger first. */
export function iterateTimestamps(database: ReadDatabase): IterableIterator<StoredTimestamp> {
  return statement<StoredTimestamp>(database, 'SELECT * FROM timestamps ORDER BY size, at, id').iterate();
}

/** Returns the earliest timestamp of each authority over a ledger that holds entry `seq`. */
export function earliestTimestamps(database: ReadDatabase, seq: number): StoredTimestamp[] {
  const rows = statement<StoredTimestamp>(
    database,
    `SELECT * FROM timestamps AS found WHERE size >= @seq AND NOT EXISTS (
       SELECT 1 FROM timestamps AS earlier
       WHERE earlier.authority = found.authority AND earlier.size >= @seq AND (earlier.at, earlier.id) < (found.at, found.id))
     ORDER BY at, id`,
  );
  return rows.all({ seq });
}
