import type { ActiveHours, Schedule } from '../../../../shared/collection/schedule.ts';
import type { ReadDatabase, WriteDatabase } from '../engine/open.ts';
import {
  change,
  countRows,
  hasRow,
  inserts,
  selectAll,
  selectEach,
  selectValue,
  updates,
} from '../engine/queries.ts';
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
export const sourcesByDueTime = selectEach<
  SourceToCheck & { next_check_at: string },
  [soon: { now: string; everyMinutes: number; ahead: number }]
>(`
  SELECT key, url, next_check_at FROM sources WHERE ${WATCHED} AND next_check_at <= strftime('%Y-%m-%dT%H:%M:%fZ', $now,
    (coalesce(every_minutes, $everyMinutes) * $ahead) || ' minutes')
    AND (next_check_at <= $now OR (${ONLY_INTERVAL}))
  ORDER BY next_check_at`);

/** Returns the number of active sources that are due between two instants. */
export const countDueBetween = countRows<[from: string, to: string]>(
  `sources WHERE ${WATCHED} AND next_check_at BETWEEN ? AND ?`,
);

/** Returns when the next active source is due. */
export const earliestDue = selectValue<string>(
  `SELECT min(next_check_at) AS at FROM sources WHERE ${WATCHED}`,
);

/**
 * Whether an active source should have been checked since an instant: it has been watched for longer, and its interval
 * is at most a day or its check is due. A source that was never checked counts from its newest revision, because it may
 * have been paused until then, as sources known by captures are.
 */
export const hasOverdueSource = hasRow<
  [at: { now: string; since: string; everyMinutes: number; dailyMinutes: number }]
>(`
  SELECT 1 FROM sources WHERE ${WATCHED} AND added_at < $since
  AND ((${ONLY_INTERVAL} AND coalesce(every_minutes, $everyMinutes) <= $dailyMinutes) OR next_check_at <= $now)
  AND (last_checked_at IS NOT NULL OR (SELECT at FROM ledger WHERE seq = revision) < $since) LIMIT 1`);

/** A source with a cron expression or active hours. */
export type ScheduledSource = Schedule & SourceToCheck & { next_check_at: string };

/** Returns the active sources with a cron expression or active hours, of which none is due later than `until`. */
export function scheduledSources(database: ReadDatabase, until: string | null = null): ScheduledSource[] {
  return scheduledUntil(database, { until });
}

const scheduledUntil = selectAll<
  Omit<ScheduledSource, 'active_hours'> & { active_hours: string | null },
  [{ until: string | null }],
  ScheduledSource
>(
  `SELECT key, url, next_check_at, every_minutes, every, time_zone, active_hours FROM sources
   WHERE ${WATCHED} AND (every IS NOT NULL OR active_hours IS NOT NULL)
     AND ($until IS NULL OR next_check_at <= $until)`,
  (row) => ({
    ...row,
    active_hours: row.active_hours === null ? null : (JSON.parse(row.active_hours) as ActiveHours),
  }),
);

export const updateNextCheck = updates<{ key: number; next_check_at: string }>('sources', {
  key: 'key',
  columns: 'next_check_at',
});

/** Reschedules the sources without their own interval: due one new interval (less jitter) after their last check. */
export const rescheduleDefaults = change<[everyMinutes: number]>(`
  UPDATE sources
  SET next_check_at = strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(last_checked_at, added_at),
    (? * ${JITTER}) || ' minutes')
  WHERE removed = 0 AND every_minutes IS NULL AND ${ONLY_INTERVAL}`);

/**
 * Reschedules sources that are due later than their interval from `now` allows, because the clock was set back. They
 * become due after one interval, less jitter.
 *
 * @param slackMinutes how much later than its interval a source may legitimately be due.
 */
export const clampDueTimes = change<[values: { now: string; everyMinutes: number; slackMinutes: number }]>(`
  UPDATE sources
  SET next_check_at = strftime('%Y-%m-%dT%H:%M:%fZ', $now,
    (coalesce(every_minutes, $everyMinutes) * ${JITTER}) || ' minutes')
  WHERE removed = 0 AND ${ONLY_INTERVAL} AND next_check_at > strftime('%Y-%m-%dT%H:%M:%fZ', $now,
    (coalesce(every_minutes, $everyMinutes) * 1.05 + $slackMinutes) || ' minutes')`);

/** The results of a round. */
interface RoundCounts {
  checked: number;
  unchanged: number;
  changed: number;
  failed: number;
}

export const insertRound = inserts<{ started_by: 'schedule' | 'owner'; started_at: string }>(
  'rounds',
  'started_by, started_at',
);

/** Ends a round. A cancelled round is ended but not completed. */
export function endRound(
  database: WriteDatabase,
  id: number,
  round: RoundCounts & { ended_at: string; completed: boolean; observer_offline: boolean },
): void {
  const [completed, observer_offline] = [Number(round.completed), Number(round.observer_offline)];
  updateRound(database, { ...round, id, completed, observer_offline });
}

const updateRound = updates<
  RoundCounts & { id: number; ended_at: string; completed: number; observer_offline: number }
>('rounds', {
  key: 'id',
  columns: 'ended_at, completed, observer_offline, checked, unchanged, changed, failed',
});

/** Returns when the last round ended that was completed, checked at least one source and was not offline. */
export const lastCompletedRound = selectValue<string>(`
  SELECT ended_at FROM rounds WHERE completed = 1 AND observer_offline = 0 AND checked > 0
  ORDER BY ended_at DESC LIMIT 1`);
