import { countOf, formatCount } from '../../../shared/values/counts.ts';

export { countOf, formatCount };

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

/**
 * Bytes in decimal units with three significant digits: 52.4 MB. Show the exact number next to it where it
 * matters.
 */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  // The unit depends on the rounded value: 999.9 kB is 1.00 MB, not 1000 kB.
  const power = Math.min(Math.floor(Math.log10(Number(bytes.toPrecision(3))) / 3), UNITS.length - 1);
  const value = bytes / 1000 ** power;
  return `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${UNITS[power]}`;
}

/** Bytes in both forms: `52.4 MB (52,428,800 bytes)`, `115 bytes`. */
export function exactBytes(bytes: number): string {
  return bytes < 1000 ? countOf(bytes, 'byte') : `${formatBytes(bytes)} (${countOf(bytes, 'byte')})`;
}

/** A duration: 8 s, 3 min, 2 h 5 min. */
export function formatDuration(seconds: number): string {
  if (seconds < 1) return 'under 1 s';
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

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
