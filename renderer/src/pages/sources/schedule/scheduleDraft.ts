import type { Schedule, Weekday } from '../../../../../shared/collection/schedule/scheduleFields.ts';

/** When a source is checked, as typed. */
export interface ScheduleDraft {
  /** Whether the times of a cron expression replace the interval. */
  by: 'interval' | 'times';
  /** A number, or empty for the node's default. */
  every_minutes: string;
  every: string;
  time_zone: string;
  has_hours: boolean;
  hours_from: string;
  hours_to: string;
  /** Empty: every day. */
  hours_days: Weekday[];
}

/** The person's own time zone. */
const OWN_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

export const EMPTY_SCHEDULE: ScheduleDraft = {
  by: 'interval',
  every_minutes: '',
  every: '',
  time_zone: OWN_ZONE,
  has_hours: false,
  hours_from: '08:00',
  hours_to: '18:00',
  hours_days: [],
};

export function scheduleDraftOf({ every_minutes, every, time_zone, active_hours }: Schedule): ScheduleDraft {
  return {
    by: every === null ? 'interval' : 'times',
    every_minutes: every_minutes === null ? '' : String(every_minutes),
    every: every ?? '',
    time_zone: active_hours?.time_zone ?? time_zone ?? (every === null ? OWN_ZONE : 'UTC'),
    has_hours: active_hours !== null,
    hours_from: active_hours?.from ?? EMPTY_SCHEDULE.hours_from,
    // The time field has no 24:00.
    hours_to: active_hours ? active_hours.to.replace('24:00', '00:00') : EMPTY_SCHEDULE.hours_to,
    hours_days: active_hours?.days ?? [],
  };
}

/** The schedule as it is sent; not yet checked. */
export function scheduleOf(draft: ScheduleDraft): Schedule {
  const { by, every_minutes, every, time_zone, has_hours, hours_from, hours_to, hours_days } = draft;
  return {
    every_minutes: every_minutes.trim() === '' ? null : Number(every_minutes),
    every: by === 'times' ? every.trim() : null,
    time_zone: by === 'times' ? time_zone : null,
    active_hours: has_hours
      ? {
          from: hours_from,
          to: hours_to.replace('00:00', '24:00'),
          ...(hours_days.length > 0 && { days: hours_days }),
          time_zone,
        }
      : null,
  };
}
