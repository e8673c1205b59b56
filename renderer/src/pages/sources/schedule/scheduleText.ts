import {
  type ActiveHours,
  type Schedule,
  WEEKDAYS,
  type Weekday,
} from '../../../../../shared/collection/schedule/scheduleFields.ts';

export const DAY_WORDS: Readonly<Record<Weekday, string>> = {
  mon: 'Mon',
  tue: 'Tue',
  wed: 'Wed',
  thu: 'Thu',
  fri: 'Fri',
  sat: 'Sat',
  sun: 'Sun',
};

/** Active hours in words: `08:00–18:00, Mon, Tue (Europe/Berlin)`. */
export function hoursText({ from, to, days, time_zone }: ActiveHours): string {
  const on = days && WEEKDAYS.filter((day) => days.includes(day)).map((day) => DAY_WORDS[day]);
  return `${from}–${to}${on ? `, ${on.join(', ')}` : ''} (${time_zone})`;
}

/** The time zone that the times of a schedule are shown in; undefined for the person's own. */
export function zoneOf({ every, time_zone, active_hours }: Schedule): string | undefined {
  if (every === null) return active_hours?.time_zone;
  return time_zone ?? active_hours?.time_zone ?? 'UTC';
}

/** A time of a schedule: `Mon 23 Nov, 08:00`. */
export function scheduledTime(at: number, zone: string | undefined): string {
  return new Intl.DateTimeFormat('en-GB', {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZone: zone,
  }).format(at);
}
