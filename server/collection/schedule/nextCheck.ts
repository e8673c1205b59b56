import { activeMs, CronError, nextActive, nextCronTime } from '../../../shared/collection/nextTimes.ts';
import type { ActiveHours, Schedule } from '../../../shared/collection/schedule.ts';
import { Problem } from '../../../shared/problems.ts';

/** Intervals have ±5 % random jitter, so that sources checked together spread out. */
export const JITTER = 0.05;
/** The longest random delay of a check at a time of a cron expression. */
const MAX_CRON_DELAY_MS = 30_000;
/** The longest random delay of a check that waited for the active hours to begin. */
const MAX_BEGIN_DELAY_MS = 300_000;

/** Whether more than an interval decides when a source is checked. */
export function hasSchedule({ every, active_hours }: Pick<Schedule, 'every' | 'active_hours'>): boolean {
  return every !== null || active_hours !== null;
}

interface DueOptions {
  /** The node's default interval. */
  everyMinutes: number;
  /** Milliseconds since the epoch. */
  from: number;
  /** The host accepts no earlier request (Retry-After). */
  notBefore?: number | null;
  /** A random number from 0 to 1. */
  fraction: number;
}

/** Returns when a source that was checked at `from` is due again, in milliseconds since the epoch. */
export function nextCheckTime(schedule: Schedule, options: DueOptions): number {
  const { everyMinutes, from, notBefore, fraction } = options;
  const interval = (schedule.every_minutes ?? everyMinutes) * 60_000;
  const earliest = notBefore ?? Number.NEGATIVE_INFINITY;
  const due = Math.max(earliest, from + interval * (1 - JITTER + 2 * JITTER * fraction));
  if (!hasSchedule(schedule)) return due;
  const { every, active_hours } = schedule;
  if (every !== null) {
    const at = nextCronTime({ ...schedule, every }, Math.max(from, earliest));
    // An expression that has no future date is as if there were none.
    if (at !== undefined) return at + MAX_CRON_DELAY_MS * fraction;
  }
  return active_hours ? atBegin(active_hours, due, fraction) : due;
}

/**
 * Returns an instant within the active hours: the given one, or one soon after they next begin. Short hours still get
 * their check: it is in their first half.
 */
function atBegin(hours: ActiveHours, at: number, fraction: number): number {
  const begin = nextActive(hours, at);
  return begin === at ? at : begin + Math.min(MAX_BEGIN_DELAY_MS, activeMs(hours) / 2) * fraction;
}

/** Returns when the active hours next begin, or null if they have begun. */
export function waitsForHours(hours: ActiveHours, now: number, fraction: number): number | null {
  const at = atBegin(hours, now, fraction);
  return at === now ? null : at;
}

/** Requires the cron expression of a schedule to be valid and ever due. @throws Problem `invalid_field`. */
export function requireValidSchedule(schedule: Schedule, now: number): void {
  if (schedule.every === null) return;
  let message: string;
  try {
    if (nextCronTime({ ...schedule, every: schedule.every }, now) !== undefined) return;
    message = schedule.active_hours ? 'This is never due within the active hours.' : 'This is never due.';
  } catch (error) {
    if (!(error instanceof CronError)) throw error;
    message = error.message;
  }
  throw new Problem('invalid_field', `/every: ${message}`, { errors: [{ path: '/every', message }] });
}
