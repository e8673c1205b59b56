import { type ReadDatabase, statement, type WriteDatabase } from '../../engine/open.ts';

/** The SQL column with the summary of an event under the current rules of its source (`events e`, `sources s`). */
export const SUMMARY_COLUMN = `(SELECT m.summary FROM event_summaries m
  WHERE m.event = e.id AND m.rules_digest IS s.rules_digest) AS summary`;

/** A summary, and the digest of the noise rules that it was made with. */
export interface EventSummary {
  event: number;
  summary: string | null;
  rules_digest: string | null;
}

/** Stores a summary, replacing an earlier one. */
export function putEventSummary(database: WriteDatabase, summary: EventSummary): void {
  statement(
    database,
    'INSERT OR REPLACE INTO event_summaries (event, summary, rules_digest) VALUES (@event, @summary, @rules_digest)',
  ).run(summary);
}

/** Whether an event was summarized with these rules, also if nothing was found to say. */
export function isSummarized(
  database: ReadDatabase,
  { id, rules_digest }: { id: number; rules_digest: string | null },
): boolean {
  return (
    statement(database, 'SELECT 1 FROM event_summaries WHERE event = ? AND rules_digest IS ?').get(
      id,
      rules_digest,
    ) !== undefined
  );
}

/** Returns the ids of up to `limit` changes after an event, in the order in which they were recorded. */
export function changesAfter(database: ReadDatabase, after: number, limit: number): number[] {
  return statement<number>(
    database,
    `SELECT id FROM events NOT INDEXED WHERE id > ? AND event_type = 'changed' AND sha256 IS NOT NULL
     AND previous_sha256 IS NOT NULL ORDER BY id LIMIT ?`,
  )
    .pluck()
    .all(after, limit);
}

/** Returns the id of the last event that was summarized when it was recorded. */
export function lastSummarizedEvent(database: ReadDatabase): number {
  return (
    statement<number>(database, "SELECT value FROM counters WHERE name = 'events_summarized'")
      .pluck()
      .get() ?? 0
  );
}

export function setLastSummarizedEvent(database: WriteDatabase, id: number): void {
  statement(database, "UPDATE counters SET value = ? WHERE name = 'events_summarized'").run(id);
}
