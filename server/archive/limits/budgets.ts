import { GIGABYTE, MEGABYTE } from '../../../shared/limits.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import { Problem } from '../../../shared/problems.ts';
import { instantOf } from '../../../shared/values/clock.ts';
import type { WriteCounts } from '../../store/sqlite/node/writeCounts.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The hour and the day (UTC) of an instant. Budgets are reset at the start of each. */
export interface WriteWindow {
  /** Such as `2026-11-20`. */
  day: string;
  hour: number;
  hourEnds: number;
  dayEnds: number;
}

export function windowAt(now: number): WriteWindow {
  const [hours, days] = [Math.floor(now / HOUR_MS), Math.floor(now / DAY_MS)];
  return {
    day: instantOf(now).slice(0, 10),
    hour: hours % 24,
    hourEnds: (hours + 1) * HOUR_MS,
    dayEnds: (days + 1) * DAY_MS,
  };
}

/** The current state of one limit: the quota of the window, the used amount, and when it is reset. */
export interface Budget {
  limit: keyof Settings;
  counts: 'writes' | 'bytes';
  quota: number;
  used: number;
  windowSeconds: number;
  resetsAt: number;
}

/** Returns the budgets of one address. */
export function addressBudgets(settings: Settings, counts: WriteCounts, window: WriteWindow): Budget[] {
  return [
    {
      limit: 'ip_writes_per_hour',
      counts: 'writes',
      quota: settings.ip_writes_per_hour,
      used: counts.hour_writes,
      ...hourly(window),
    },
    {
      limit: 'ip_writes_per_day',
      counts: 'writes',
      quota: settings.ip_writes_per_day,
      used: counts.day_writes,
      ...daily(window),
    },
    {
      limit: 'ip_mb_per_day',
      counts: 'bytes',
      quota: settings.ip_mb_per_day * MEGABYTE,
      used: counts.day_bytes,
      ...daily(window),
    },
  ];
}

/** Returns the budgets of the whole site, which include the writes of the owner. */
export function siteBudgets(settings: Settings, counts: WriteCounts, window: WriteWindow): Budget[] {
  return [
    {
      limit: 'site_writes_per_hour',
      counts: 'writes',
      quota: settings.site_writes_per_hour,
      used: counts.hour_writes,
      ...hourly(window),
    },
    {
      limit: 'site_gb_per_day',
      counts: 'bytes',
      quota: settings.site_gb_per_day * GIGABYTE,
      used: counts.day_bytes,
      ...daily(window),
    },
  ];
}

function hourly({ hourEnds }: WriteWindow) {
  return { windowSeconds: HOUR_MS / 1000, resetsAt: hourEnds };
}

function daily({ dayEnds }: WriteWindow) {
  return { windowSeconds: DAY_MS / 1000, resetsAt: dayEnds };
}

/** Returns the budget that this additional amount would exceed. If there are several, the one that is reset last. */
export function exceededBudget(
  budgets: readonly Budget[],
  more: { writes: number; bytes: number },
): Budget | undefined {
  let exceeded: Budget | undefined;
  for (const budget of budgets) {
    if (budget.used + more[budget.counts] <= budget.quota) continue;
    if (exceeded === undefined || budget.resetsAt > exceeded.resetsAt) exceeded = budget;
  }
  return exceeded;
}

export function secondsUntil(instant: number, now: number): number {
  return Math.max(1, Math.ceil((instant - now) / 1000));
}

export function rateLimited({ limit, quota, counts, resetsAt }: Budget, now: number): Problem {
  const resets_at = instantOf(resetsAt);
  const amount = counts === 'writes' ? `make ${quota} writes` : `send ${quota} bytes`;
  const whose = limit.startsWith('site') ? 'Everyone together' : 'One address';
  const span = limit.endsWith('hour') ? 'an hour' : 'a day';
  const detail = `${whose} may ${amount} in ${span} (${limit}). Try again at ${resets_at}.`;
  return new Problem('rate_limited', detail, {
    members: { limit, quota, resets_at },
    headers: { 'Retry-After': String(secondsUntil(resetsAt, now)) },
  });
}
