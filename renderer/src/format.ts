import { countOf, formatCount } from '../../shared/values/counts.ts';
import type { Zone } from './state/displaySettings.ts';

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

const STEPS = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const;
/** What one unit ago and in one unit are called. */
const NEAR: Partial<Record<string, readonly [ago: string, ahead: string]>> = {
  year: ['last year', 'next year'],
  month: ['last month', 'next month'],
  week: ['last week', 'next week'],
  day: ['yesterday', 'tomorrow'],
};

/** `3 minutes ago`, `yesterday`, `in 2 hours`. As Intl says it, whose first use takes 10 ms of the first page. */
export function relativeTime(instant: string, now: number): string {
  const seconds = (Date.parse(instant) - now) / 1000;
  const distance = Math.abs(seconds);
  const step = STEPS.find(([, length]) => distance >= length);
  if (!step || distance < 5) return 'just now';
  const [unit, length] = step;
  const count = Math.trunc(distance / length);
  const near = count === 1 ? NEAR[unit] : undefined;
  if (near) return seconds < 0 ? near[0] : near[1];
  const units = `${formatCount(count)} ${unit}${count === 1 ? '' : 's'}`;
  return seconds < 0 ? `${units} ago` : `in ${units}`;
}

const exact = new Map<Zone, Intl.DateTimeFormat>();

/** The exact timestamp in a time zone, with the zone's name: `20 Nov 2026, 10:14:21 UTC`. */
export function exactTime(instant: string, zone: Zone): string {
  let format = exact.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-GB', {
      day: 'numeric',
      month: 'short',
      year: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hourCycle: 'h23',
      timeZoneName: 'short',
      timeZone: zone === 'utc' ? 'UTC' : undefined,
    });
    exact.set(zone, format);
  }
  return format.format(new Date(instant));
}

/** The time of day with the zone's name, and the date unless it is today: `15:00 CET`, `21 Nov, 01:00 CET`. */
export function clockTime(instant: string, zone: Zone, now: number): string {
  const isToday = dayOf(instant, zone) === dayOf(new Date(now).toISOString(), zone);
  return new Intl.DateTimeFormat('en-GB', {
    ...(!isToday && { day: 'numeric', month: 'short' }),
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
    timeZone: zone === 'utc' ? 'UTC' : undefined,
  }).format(new Date(instant));
}

/** The date in a time zone, as the timeline's filters expect it: `2026-11-20`. */
export function dayOf(instant: string, zone: Zone): string {
  // The Swedish locale formats dates as YYYY-MM-DD.
  const timeZone = zone === 'utc' ? 'UTC' : undefined;
  return new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeZone }).format(new Date(instant));
}

/** Authors on one line: `Ada Lovelace, Alan Turing and 3 more`. */
export function authorsLine(authors: readonly { name: string }[], shown = 2): string {
  const names = authors.slice(0, shown).map((author) => author.name);
  const more = authors.length - names.length;
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ');
}

/** A DataCite relation as text: `IsSupplementTo` as `is supplement to`. */
export function relationLabel(relation: string): string {
  return relation.replaceAll(/(?<=.)[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();
}

/** Returns the place of a copy as a person writes it: a path, or `s3://bucket/prefix`. */
export function copyPlace(target: string): string {
  if (!target.startsWith('file://')) return target;
  const path = target.slice('file://'.length);
  try {
    return decodeURIComponent(path).replace(/^\/(?=[A-Za-z]:)/, '');
  } catch {
    return path;
  }
}

/** Returns the URL of a folder's path; undefined if the path is not absolute. */
export function folderTarget(path: string): string | undefined {
  const slashed = path.trim().replaceAll('\\', '/');
  if (!/^(\/|[A-Za-z]:\/)/.test(slashed)) return undefined;
  const encoded = slashed.split('/').map(encodeURIComponent).join('/').replaceAll('%3A', ':');
  return `file://${encoded.startsWith('/') ? '' : '/'}${encoded}`;
}

/** An archived object, and optionally the retrieval to show it as. */
export interface ShownObject {
  sha256: string;
  /** The id of its source. */
  source?: string | undefined;
  /** The time of the capture: `original_observed_at` if there is one, else `observed_at`. */
  at?: string | undefined;
}

/** Returns the path of the page that shows an archived object. */
export function viewPath({ sha256, source, at }: ShownObject): string {
  const query = new URLSearchParams({ ...(source && { source }), ...(at && { at }) }).toString();
  return `/view/${sha256}${query && `?${query}`}`;
}

/** Returns the time of a capture: when it was made, or else when this node retrieved it. */
export function captureTime(of: { observed_at: string; original_observed_at: string | null }): string {
  return of.original_observed_at ?? of.observed_at;
}
