import { describe, expect, test } from 'vitest';
import { CronError, isActive, nextActive, nextTimes, parseCron } from '../../shared/collection/nextTimes.ts';
import {
  type ActiveHours,
  activeHoursSchema,
  type Schedule,
  timeZoneSchema,
} from '../../shared/collection/schedule.ts';

const NONE: Schedule = { every_minutes: null, every: null, time_zone: null, active_hours: null };

function times(schedule: Partial<Schedule>, from: string, count = 3): string[] {
  return nextTimes({ ...NONE, ...schedule }, 60, { from: Date.parse(from), count }).map((at) =>
    new Date(at).toISOString().slice(0, 16),
  );
}

const berlin = (hours: Omit<ActiveHours, 'time_zone'>): ActiveHours => ({
  ...hours,
  time_zone: 'Europe/Berlin',
});

describe('cron expressions', () => {
  test('are times of their time zone; without one, of the active hours, else UTC', () => {
    expect(times({ every: '30 8 * * 1-5' }, '2026-11-20T10:00:00Z')).toEqual([
      '2026-11-23T08:30',
      '2026-11-24T08:30',
      '2026-11-25T08:30',
    ]);
    expect(times({ every: '@daily', time_zone: 'America/New_York' }, '2026-11-20T10:00:00Z', 1)).toEqual([
      '2026-11-21T05:00',
    ]);
    const active_hours = berlin({ from: '08:00', to: '18:00' });
    expect(times({ every: '0 9 * * *', active_hours }, '2026-11-20T10:00:00Z', 1)).toEqual([
      '2026-11-21T08:00',
    ]);
  });

  test('in the night in which an hour is missing, a time within it moves to the next one that exists', () => {
    const every = { every: '30 2 * * *', time_zone: 'Europe/Berlin' };
    expect(times(every, '2026-03-28T00:00:00Z')).toEqual([
      '2026-03-28T01:30',
      '2026-03-29T01:00',
      '2026-03-30T00:30',
    ]);
  });

  test('in the night in which an hour comes twice, a time within it comes once', () => {
    const every = { every: '30 2 * * *', time_zone: 'Europe/Berlin' };
    expect(times(every, '2026-10-24T00:00:00Z')).toEqual([
      '2026-10-24T00:30',
      '2026-10-25T00:30',
      '2026-10-26T01:30',
    ]);
  });

  test('every hour means every hour that passes, in both nights', () => {
    const every = { every: '0 * * * *', time_zone: 'Europe/Berlin' };
    expect(times(every, '2026-03-28T23:30:00Z')).toEqual([
      '2026-03-29T00:00',
      '2026-03-29T01:00',
      '2026-03-29T02:00',
    ]);
    expect(times(every, '2026-10-24T23:30:00Z')).toEqual([
      '2026-10-25T00:00',
      '2026-10-25T01:00',
      '2026-10-25T02:00',
    ]);
  });

  test('only times within the active hours count', () => {
    const active_hours = berlin({ from: '08:00', to: '10:00', days: ['mon'] });
    expect(times({ every: '0 */3 * * *', active_hours }, '2026-11-20T10:00:00Z', 2)).toEqual([
      '2026-11-23T08:00',
      '2026-11-30T08:00',
    ]);
    expect(times({ every: '0 3 * * *', active_hours }, '2026-11-20T10:00:00Z')).toEqual([]);
    const begin = { every: '0 8 * * *', active_hours };
    expect(times(begin, '2026-11-20T10:00:00Z', 1), 'the minute in which they begin').toEqual([
      '2026-11-23T07:00',
    ]);
  });

  test.each([
    '* * * * * *',
    '60 * * * *',
    'a b c d e',
    '2026-01-01T00:00:00',
    '@reboot',
    '',
    '* * * *',
    '*/0 * * * *',
  ])('%j is none', (text) => expect(() => parseCron(text, 'UTC')).toThrow(CronError));

  test('one that is never due has no times', () => {
    expect(times({ every: '0 0 30 2 *' }, '2026-01-01T00:00:00Z')).toEqual([]);
  });
});

describe('active hours', () => {
  test('begin at `from` and end before `to`, on their days', () => {
    const hours = berlin({ from: '08:00', to: '18:00', days: ['fri'] });
    const at = (time: string) => isActive(hours, Date.parse(time));
    expect(['06:59', '07:00', '16:59', '17:00'].map((time) => at(`2026-11-20T${time}:30Z`))).toEqual([
      false,
      true,
      true,
      false,
    ]);
    expect(at('2026-11-21T12:00:00Z'), 'Saturday').toBe(false);
  });

  test('may end on the next day', () => {
    const hours = berlin({ from: '22:00', to: '06:00', days: ['fri'] });
    const at = (time: string) => isActive(hours, Date.parse(time));
    expect(at('2026-11-20T22:00:00Z'), 'Friday 23:00').toBe(true);
    expect(at('2026-11-21T04:00:00Z'), 'Saturday 05:00').toBe(true);
    expect(at('2026-11-20T04:00:00Z'), 'Friday 05:00').toBe(false);
    expect(at('2026-11-21T21:30:00Z'), 'Saturday 22:30').toBe(false);
  });

  test('an interval that ends outside them goes on when they begin', () => {
    const active_hours = berlin({ from: '08:00', to: '18:00' });
    expect(times({ every_minutes: 240, active_hours }, '2026-11-20T12:00:00Z', 4)).toEqual([
      '2026-11-20T16:00',
      '2026-11-21T07:00',
      '2026-11-21T11:00',
      '2026-11-21T15:00',
    ]);
  });

  test('that begin in the missing hour begin when it is over; days count by the local date', () => {
    const hours = berlin({ from: '02:30', to: '04:00' });
    expect(new Date(nextActive(hours, Date.parse('2026-03-28T23:00:00Z'))).toISOString()).toBe(
      '2026-03-29T01:00:00.000Z',
    );
    const kiritimati: ActiveHours = {
      from: '00:00',
      to: '24:00',
      days: ['sat'],
      time_zone: 'Pacific/Kiritimati',
    };
    expect(isActive(kiritimati, Date.parse('2026-11-20T10:00:00Z'))).toBe(true);
    expect(isActive(kiritimati, Date.parse('2026-11-21T10:00:00Z'))).toBe(false);
  });

  test.each([
    [{ from: '08:00', to: '08:00', time_zone: 'UTC' }],
    [{ from: '8:00', to: '18:00', time_zone: 'UTC' }],
    [{ from: '24:00', to: '08:00', time_zone: 'UTC' }],
    [{ from: '08:00', to: '18:00' }],
    [{ from: '08:00', to: '18:00', time_zone: 'Mars/Olympus' }],
    [{ from: '08:00', to: '18:00', time_zone: '+01:00' }],
    [{ from: '08:00', to: '18:00', time_zone: 'UTC', days: [] }],
    [{ from: '08:00', to: '18:00', time_zone: 'UTC', days: ['mon', 'mon'] }],
  ])('%j is refused', (hours) => expect(activeHoursSchema.safeParse(hours).success).toBe(false));

  test('time zones are those of the IANA database', () => {
    expect(timeZoneSchema.safeParse('America/Argentina/Buenos_Aires').success).toBe(true);
  });
});
