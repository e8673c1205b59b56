import { z } from 'zod';
import { text } from '../values/text.ts';

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof WEEKDAYS)[number];

/** The name of a time zone of the IANA database. */
export const timeZoneSchema = z
  .string()
  .max(64, 'At most 64 characters.')
  .refine(isTimeZone, 'Enter a time zone of the IANA database, such as Europe/Berlin.');

function isTimeZone(name: string): boolean {
  // Offsets such as +01:00 are valid for `Intl`, but know no daylight saving time.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

const HOUR = /^([01]\d|2[0-3]):[0-5]\d$/;
const hour = z.string().regex(HOUR, 'Enter a time such as 08:00.');

/** The hours of the day in which a source is checked on schedule. */
export const activeHoursSchema = z
  .strictObject({
    from: hour,
    to: z
      .string()
      .refine((value) => HOUR.test(value) || value === '24:00', 'Enter a time such as 18:00, or 24:00.')
      .meta({ description: 'Not included. Earlier than `from`: of the next day.' }),
    days: z
      .array(z.enum(WEEKDAYS))
      .min(1, 'Choose a day, or leave the days out.')
      .max(7)
      .refine((days) => new Set(days).size === days.length, 'A day is given twice.')
      .optional()
      .meta({ description: 'The days on which the hours begin. Without them, every day.' }),
    time_zone: timeZoneSchema,
  })
  .refine(({ from, to }) => from !== to, { message: 'The hours are empty.', path: ['to'] })
  .meta({ id: 'ActiveHours' });
export type ActiveHours = z.output<typeof activeHoursSchema>;

/** A cron expression. `requireValidSchedule` checks whether it is valid and ever due. */
export const cronSchema = text(1, 100);

/** What decides when a source is checked on schedule. */
export interface Schedule {
  /** Null: the node's default interval. */
  every_minutes: number | null;
  /** A cron expression, which replaces the interval. */
  every: string | null;
  /** The time zone of `every`. Null: that of the active hours, else UTC. */
  time_zone: string | null;
  active_hours: ActiveHours | null;
}
