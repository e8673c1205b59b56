import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

/** The current day of the write counts, and the random key for hashing the addresses of that day. */
export interface WriteDay {
  day: string;
  key: string;
}

/** Writes in one hour, and writes and bytes of the day. */
export interface WriteCounts {
  hour_writes: number;
  day_writes: number;
  day_bytes: number;
}

export function writeDay(database: ReadDatabase): WriteDay | undefined {
  return statement<WriteDay>(database, 'SELECT day, key FROM write_day').get();
}

/** Begins a day: replaces the key and deletes all counts. */
export function beginWriteDay(database: WriteDatabase, { day, key }: WriteDay): void {
  statement(database, 'DELETE FROM write_counts').run();
  statement(
    database,
    'INSERT INTO write_day (only, day, key) VALUES (1, ?, ?) ON CONFLICT DO UPDATE SET day = excluded.day, key = excluded.key',
  ).run(day, key);
}

export function writeCounts(database: ReadDatabase, who: string, hour: number): WriteCounts {
  return statement<WriteCounts>(
    database,
    `SELECT coalesce(sum(writes) FILTER (WHERE hour = ?), 0) AS hour_writes,
       coalesce(sum(writes), 0) AS day_writes, coalesce(sum(bytes), 0) AS day_bytes
     FROM write_counts WHERE who = ?`,
  ).get(hour, who) as WriteCounts;
}

export function addWriteCounts(
  database: WriteDatabase,
  who: string,
  hour: number,
  { writes, bytes }: { writes: number; bytes: number },
): void {
  statement(
    database,
    `INSERT INTO write_counts (who, hour, writes, bytes) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET writes = writes + excluded.writes, bytes = bytes + excluded.bytes`,
  ).run(who, hour, writes, bytes);
}
