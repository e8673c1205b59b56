import { Cron } from 'croner';
import { type ActiveHours, type Schedule, WEEKDAYS } from './schedule.ts';

/** The expression is not one of cron. */
export class CronError extends Error {
  constructor() {
    super('This is not a cron expression of five fields, such as 0 8 * * 1-5, or a name such as @daily.');
    this.name = 'CronError';
  }
}

const NAMED = /^@(hourly|daily|midnight|weekly|monthly|yearly|annually)$/i;
/** Times of a cron expression that are tried when none is within the active hours. */
const MAX_TRIED = 2_000;

/** Parses a cron expression of five fields: minute, hour, day of the month, month, day of the week. @throws CronError. */
export function parseCron(expression: string, timezone: string): Cron {
  const text = expression.trim();
  if (!NAMED.test(text) && text.split(/\s+/).length !== 5) throw new CronError();
  try {
    return new Cron(text, { timezone, mode: '5-part', paused: true });
  } catch (error) {
    // The parser throws TypeError and RangeError with sentences for programmers.
    if (error instanceof TypeError || error instanceof RangeError) throw new CronError();
    throw error;
  }
}

/** Returns whether an instant is within the active hours. */
export function isActive(hours: ActiveHours, at: number): boolean {
  const { minute, weekday } = localTime(hours.time_zone, at);
  const [from, to] = [minutesOf(hours.from), minutesOf(hours.to)];
  const onDay = (day: number) => !hours.days || hours.days.includes(WEEKDAYS[(day + 7) % 7] ?? 'mon');
  if (from < to) return minute >= from && minute < to && onDay(weekday);
  // The hours end on the next day.
  return (minute >= from && onDay(weekday)) || (minute < to && onDay(weekday - 1));
}

/** Returns the given instant if it is within the active hours, else when they next begin. */
export function nextActive(hours: ActiveHours, at: number): number {
  if (isActive(hours, at)) return at;
  const [hour = '0', minute = '0'] = hours.from.split(':');
  const days = hours.days?.map((day) => (WEEKDAYS.indexOf(day) + 1) % 7).join(',') ?? '*';
  const begin = new Cron(`${Number(minute)} ${Number(hour)} * * ${days}`, {
    timezone: hours.time_zone,
    paused: true,
  });
  return begin.nextRun(new Date(at))?.getTime() ?? at;
}

/** Returns how long the active hours last, in milliseconds of a day without a change of the clocks. */
export function activeMs({ from, to }: ActiveHours): number {
  return ((minutesOf(to) - minutesOf(from) + 1440) % 1440 || 1440) * 60_000;
}

/** Returns the first time of the cron expression after `from` within the active hours; undefined if there is none. */
export function nextCronTime(schedule: Schedule & { every: string }, from: number): number | undefined {
  const { active_hours } = schedule;
  const cron = parseCron(schedule.every, schedule.time_zone ?? active_hours?.time_zone ?? 'UTC');
  let after = from;
  for (let tried = 0; tried < MAX_TRIED; tried += 1) {
    const at = cron.nextRun(new Date(after))?.getTime();
    if (at === undefined || !active_hours || isActive(active_hours, at)) return at;
    // The search goes on just before the hours begin, because that minute may be one of the expression's.
    after = Math.max(at, nextActive(active_hours, at) - 1);
  }
  return undefined;
}

/**
 * Returns when a source is next due if it was checked at `from`, without jitter; undefined if it never is.
 *
 * @param everyMinutes the node's default interval
 * @throws CronError
 */
function nextDue(schedule: Schedule, everyMinutes: number, from: number): number | undefined {
  const { every, every_minutes, active_hours } = schedule;
  if (every !== null) return nextCronTime({ ...schedule, every }, from);
  const at = from + (every_minutes ?? everyMinutes) * 60_000;
  return active_hours ? nextActive(active_hours, at) : at;
}

/** Returns the next times at which a source is due. Times by an interval are those of a source that was just checked. */
export function nextTimes(
  schedule: Schedule,
  everyMinutes: number,
  { from, count }: { from: number; count: number },
): number[] {
  const times: number[] = [];
  for (let at = nextDue(schedule, everyMinutes, from); at !== undefined && times.length < count; ) {
    times.push(at);
    at = nextDue(schedule, everyMinutes, at);
  }
  return times;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function localTime(timeZone: string, at: number): { minute: number; weekday: number } {
  const format =
    formats.get(timeZone) ??
    new Intl.DateTimeFormat('en-US', {
      timeZone,
      weekday: 'short',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    });
  formats.set(timeZone, format);
  const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
  return {
    minute: Number(parts.hour) * 60 + Number(parts.minute),
    weekday: WEEKDAYS.findIndex((day) => day === parts.weekday?.toLowerCase()),
  };
}

function minutesOf(time: string): number {
  const [hours = '0', minutes = '0'] = time.split(':');
  return Number(hours) * 60 + Number(minutes);
}
