import type { Zone } from '../state/displaySettings.ts';
import { formatCount } from './size.ts';

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
