import { expect, test } from 'vitest';
import {
  dayOf,
  exactTime,
  formatBytes,
  formatCount,
  formatDuration,
  relativeTime,
} from '../../renderer/src/format.ts';

test('bytes are formatted with three digits and decimal prefixes', () => {
  expect([0, 999, 1000, 52_428_800, 999_500_000, 3e15].map(formatBytes)).toEqual([
    '0 B',
    '999 B',
    '1.00 kB',
    '52.4 MB',
    '1.00 GB',
    '3.00 PB',
  ]);
});

test('durations and relative times are formatted for people', () => {
  expect([0.4, 8.2, 200, 7500].map(formatDuration)).toEqual(['under 1 s', '8 s', '3 min', '2 h 5 min']);
  const now = Date.parse('2026-11-20T12:00:00.000Z');
  const near = (instant: string) => relativeTime(instant, now);
  expect(near('2026-11-20T11:59:58.000Z')).toBe('just now');
  expect(near('2026-11-20T11:57:00.000Z')).toBe('3 minutes ago');
  expect(near('2026-11-19T11:00:00.000Z')).toBe('yesterday');
  expect(near('2026-11-20T14:00:00.000Z')).toBe('in 2 hours');
});

test('instants are formatted exactly with their time zone, and by day', () => {
  expect(exactTime('2026-11-20T10:14:21.592Z', 'utc')).toBe('20 Nov 2026, 10:14:21 UTC');
  expect(dayOf('2026-11-20T23:59:59.999Z', 'utc')).toBe('2026-11-20');
});

test('numbers and relative times are what Intl says in English', () => {
  const whole = new Intl.NumberFormat('en-US');
  for (const count of [0, 7, 999, 1000, 52_428_800, 1_234_567_890_123, -1, -1000, -999_999])
    expect(formatCount(count)).toBe(whole.format(count));

  const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
  const now = Date.parse('2026-11-20T12:00:00.000Z');
  const lengths = {
    second: 1,
    minute: 60,
    hour: 3600,
    day: 86_400,
    week: 604_800,
    month: 2_629_800,
    year: 31_557_600,
  };
  for (const [unit, length] of Object.entries(lengths))
    for (const count of [1, 2, 3, 2_500]) {
      if (count * length < 5 || (count === 2_500 && unit !== 'year')) continue;
      for (const signed of [count, -count])
        expect(relativeTime(new Date(now + signed * length * 1000).toISOString(), now)).toBe(
          relative.format(signed, unit as Intl.RelativeTimeFormatUnit),
        );
    }
  expect(relativeTime('2026-11-20T12:00:04.999Z', now)).toBe('just now');
});
