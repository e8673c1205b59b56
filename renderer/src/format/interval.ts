import { countOf } from './size.ts';

/** The units of an interval, with their minutes. */
export const INTERVAL_UNITS = { minutes: 1, hours: 60, days: 1_440 } as const;
export type IntervalUnit = keyof typeof INTERVAL_UNITS;

/** An interval in words: `45 minutes`, `2 hours`, `1 day 12 hours`. */
export function intervalText(minutes: number): string {
  const days = Math.floor(minutes / INTERVAL_UNITS.days);
  const hours = Math.floor((minutes % INTERVAL_UNITS.days) / INTERVAL_UNITS.hours);
  const rest = minutes % INTERVAL_UNITS.hours;
  const parts = [
    ...(days > 0 ? [countOf(days, 'day')] : []),
    ...(hours > 0 ? [countOf(hours, 'hour')] : []),
    ...(rest > 0 ? [countOf(rest, 'minute')] : []),
  ];
  return parts.join(' ') || countOf(0, 'minute');
}

/** The largest unit in which an interval is a whole number. */
export function unitOf(minutes: number): IntervalUnit {
  if (minutes <= 0 || !Number.isFinite(minutes)) return 'minutes';
  if (minutes % INTERVAL_UNITS.days === 0) return 'days';
  return minutes % INTERVAL_UNITS.hours === 0 ? 'hours' : 'minutes';
}
