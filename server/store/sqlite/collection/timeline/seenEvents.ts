import { type ReadDatabase, statement, type WriteDatabase } from '../../engine/open.ts';

/** Which events the owner has seen: all up to an id, except that the state of single events is reversed. */
export interface SeenMarks {
  until: number;
  /** Ids: unseen ones up to `until`, seen ones after it. Ascending. */
  exceptions: number[];
}

export function readSeenMarks(database: ReadDatabase): SeenMarks {
  const until = statement<number>(database, "SELECT value FROM counters WHERE name = 'events_seen_until'")
    .pluck()
    .get();
  const exceptions = statement<number>(database, 'SELECT event FROM seen_exceptions ORDER BY event')
    .pluck()
    .all();
  return { until: until ?? 0, exceptions };
}

export function writeSeenMarks(database: WriteDatabase, { until, exceptions }: SeenMarks): void {
  statement(database, "UPDATE counters SET value = ? WHERE name = 'events_seen_until'").run(until);
  statement(database, 'DELETE FROM seen_exceptions').run();
  statement(database, 'INSERT INTO seen_exceptions (event) SELECT value FROM json_each(?)').run(
    JSON.stringify(exceptions),
  );
}

/** Returns a table with a 1 for each event up to `lastId` that was seen. */
export function seenTable({ until, exceptions }: SeenMarks, lastId: number): Uint8Array {
  const table = new Uint8Array(lastId + 1).fill(1, 0, Math.min(until, lastId) + 1);
  for (const event of exceptions) if (event <= lastId) table[event] = event <= until ? 0 : 1;
  return table;
}
