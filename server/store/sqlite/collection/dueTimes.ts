import type { ActiveHours, Schedule } from '../../../../shared/collection/schedule/scheduleFields.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';
import { type SourceToCheck, WATCHED } from './sources.ts';

/** The SQL condition for sources whose times only an interval decides. */
const ONLY_INTERVAL = 'every IS NULL AND active_hours IS NULL';

/** A factor from 0.95 to 1 that depends on the source's key, so that sources rescheduled together do not fall due at once. */
const JITTER = '(0.95 + 0.05 * (key * 7919 % 1000) / 1000.0)';

/**
 * Iterates over the active sources that are due or will be within `ahead` of their interval, most overdue first.
 * Sources with a cron expression or active hours are never early.
 *
 * @param soon `everyMinutes` is the node's default interval; `ahead` is a fraction of the interval.
 */
export function sourcesByDueTime(
  database: ReadDatabase,
  soon: { now: string; everyMinutes: number; ahead: number },
): IterableIterator<SourceToCheck & { next_check_at: string }> {
  return statement<SourceToCheck & { next_check_at: string }>(
    database,
    `SELECT key, url, next_check_at FROM sources WHERE ${WATCHED} AND next_check_at <= strftime('%Y-%m-%dT%H:%M:%fZ', @now,
       (coalesce(every_minutes, @everyMinutes) * @ahead) || ' minutes')
       AND (next_check_at <= @now OR (${ONLY_INTERVAL}))
     ORDER BY next_check_at`,
  ).iterate(soon);
}

/** Returns the number of active sources that are due between two instants. */
export function countDueBetween(database: ReadDatabase, from: string, to: string): number {
  return (
    statement<{ count: number }>(
      database,
      `SELECT count(*) AS count FROM sources WHERE ${WATCHED} AND next_check_at BETWEEN ? AND ?`,
    ).get(from, to)?.count ?? 0
  );
}

/** Returns when the next active source is due. */
export function earliestDue(database: ReadDatabase): string | undefined {
  return (
    statement<{ at: string | null }>(
      database,
      `SELECT min(next_check_at) AS at FROM sources WHERE ${WATCHED}`,
    ).get()?.at ?? undefined
  );
}

/**
 * Whether an active source should have been checked since an instant: it has been watched for longer, and its interval
 * is at most a day or its check is due. A source that was never checked counts from its newest revision, because it may
 * have been paused until then, as sources known by captures are.
 */
export function hasOverdueSource(
  database: ReadDatabase,
  at: { now: string; since: string; everyMinutes: number; dailyMinutes: number },
): boolean {
  return (
    statement(
      database,
      `SELECT 1 FROM sources WHERE ${WATCHED} AND added_at < @since
         AND ((${ONLY_INTERVAL} AND coalesce(every_minutes, @everyMinutes) <= @dailyMinutes) OR next_check_at <= @now)
         AND (last_checked_at IS NOT NULL OR (SELECT at FROM ledger WHERE seq = revision) < @since) LIMIT 1`,
    ).get(at) !== undefined
  );
}

/** A source with a cron expression or active hours. */
export type ScheduledSource = Schedule & SourceToCheck & { next_check_at: string };

/** Returns the active sources with a cron expression or active hours, of which none is due later than `until`. */
export function scheduledSources(database: ReadDatabase, until: string | null = null): ScheduledSource[] {
  return statement<Omit<ScheduledSource, 'active_hours'> & { active_hours: string | null }>(
    database,
    `SELECT key, url, next_check_at, every_minutes, every, time_zone, active_hours FROM sources
     WHERE ${WATCHED} AND (every IS NOT NULL OR active_hours IS NOT NULL)
       AND (@until IS NULL OR next_check_at <= @until)`,
  )
    .all({ until })
    .map((row) => ({
      ...row,
      active_hours: row.active_hours === null ? null : (JSON.parse(row.active_hours) as ActiveHours),
    }));
}

export function updateNextCheck(database: WriteDatabase, key: number, at: string): void {
  statement(database, 'UPDATE sources SET next_check_at = ? WHERE key = ?').run(at, key);
}

/** Reschedules the sources without their own interval: due one new interval (less jitter) after their last check. */
export function rescheduleDefaults(database: WriteDatabase, everyMinutes: number): void {
  statement(
    database,
    `UPDATE sources
     SET next_check_at = strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(last_checked_at, added_at),
       (? * ${JITTER}) || ' minutes')
     WHERE removed = 0 AND every_minutes IS NULL AND ${ONLY_INTERVAL}`,
  ).run(everyMinutes);
}

/**
 * Reschedules sources that are due later than their interval from `now` allows, because the clock was set back. They
 * become due after one interval, less jitter.
 *
 * @param slackMinutes how much later than its interval a source may legitimately be due.
 */
export function clampDueTimes(
  database: WriteDatabase,
  { now, everyMinutes, slackMinutes }: { now: string; everyMinutes: number; slackMinutes: number },
): void {
  statement(
    database,
    `UPDATE sources
     SET next_check_at = strftime('%Y-%m-%dT%H:%M:%fZ', @now,
       (coalesce(every_minutes, @everyMinutes) * ${JITTER}) || ' minutes')
     WHERE removed = 0 AND ${ONLY_INTERVAL} AND next_check_at > strftime('%Y-%m-%dT%H:%M:%fZ', @now,
       (coalesce(every_minutes, @everyMinutes) * 1.05 + @slackMinutes) || ' minutes')`,
  ).run({ now, everyMinutes, slackMinutes });
}
