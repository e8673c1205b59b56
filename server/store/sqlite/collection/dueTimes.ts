import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';
import { type SourceToCheck, WATCHED } from './sources.ts';

/** A share of an interval from 0.95 to 1, by the source's number: what is made due anew together is due one by one. */
const PARTED = '(0.95 + 0.05 * (key * 7919 % 1000) / 1000.0)';

/**
 * Active sources that are due, and those that are within a share of their interval, most overdue first; read one by one.
 *
 * @param everyMinutes the node's own interval. @param ahead that share.
 */
export function sourcesByDueTime(
  database: ReadDatabase,
  soon: { now: string; everyMinutes: number; ahead: number },
): IterableIterator<SourceToCheck & { next_check_at: string }> {
  return statement<SourceToCheck & { next_check_at: string }>(
    database,
    `SELECT key, url, next_check_at FROM sources WHERE ${WATCHED} AND next_check_at <= strftime('%Y-%m-%dT%H:%M:%fZ', @now,
       (coalesce(every_minutes, @everyMinutes) * @ahead) || ' minutes')
     ORDER BY next_check_at`,
  ).iterate(soon);
}

/** How many active sources are due between two instants. */
export function countDueBetween(database: ReadDatabase, from: string, to: string): number {
  return (
    statement<{ count: number }>(
      database,
      `SELECT count(*) AS count FROM sources WHERE ${WATCHED} AND next_check_at BETWEEN ? AND ?`,
    ).get(from, to)?.count ?? 0
  );
}

/** When the next active source is due. */
export function earliestDue(database: ReadDatabase): string | undefined {
  return (
    statement<{ at: string | null }>(
      database,
      `SELECT min(next_check_at) AS at FROM sources WHERE ${WATCHED}`,
    ).get()?.at ?? undefined
  );
}

export function updateNextCheck(database: WriteDatabase, key: number, at: string): void {
  statement(database, 'UPDATE sources SET next_check_at = ? WHERE key = ?').run(at, key);
}

/** Makes what follows the node's own interval due by a new one, at the latest, counted from its last check. */
export function rescheduleDefaults(database: WriteDatabase, everyMinutes: number): void {
  statement(
    database,
    `UPDATE sources
     SET next_check_at = strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(last_checked_at, added_at),
       (? * ${PARTED}) || ' minutes')
     WHERE removed = 0 AND every_minutes IS NULL`,
  ).run(everyMinutes);
}

/**
 * Makes due after their interval, or a little less of it, what is due later than any interval from `now` explains: the clock was set back.
 *
 * @param slackMinutes how much later than its interval a source may rightly be due.
 */
export function clampDueTimes(
  database: WriteDatabase,
  { now, everyMinutes, slackMinutes }: { now: string; everyMinutes: number; slackMinutes: number },
): void {
  statement(
    database,
    `UPDATE sources
     SET next_check_at = strftime('%Y-%m-%dT%H:%M:%fZ', @now,
       (coalesce(every_minutes, @everyMinutes) * ${PARTED}) || ' minutes')
     WHERE removed = 0 AND next_check_at > strftime('%Y-%m-%dT%H:%M:%fZ', @now,
       (coalesce(every_minutes, @everyMinutes) * 1.05 + @slackMinutes) || ' minutes')`,
  ).run({ now, everyMinutes, slackMinutes });
}
