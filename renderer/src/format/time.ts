import type { Zone } from '../state/displaySettings.ts';

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** `3 minutes ago`, `yesterday`, `in 2 hours`. */
export function relativeTime(instant: string, now: number): string {
  const seconds = (Date.parse(instant) - now) / 1000;
  for (const [unit, length] of STEPS) {
    if (Math.abs(seconds) >= length) return relative.format(Math.trunc(seconds / length), unit);
  }
  return Math.abs(seconds) < 5 ? 'just now' : relative.format(Math.trunc(seconds), 'second');
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
