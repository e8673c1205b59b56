import { describe, expect, test } from 'vitest';
import {
  barsOf,
  daysOf,
  firstDayOf,
  frameOf,
  lastDayBefore,
} from '../../renderer/src/pages/timeline/density/densityFrame.ts';

const YEAR = frameOf('2025-01-03T10:00:00.000Z', '2025-12-31T23:00:00.000Z', 'utc');
const WEEK = frameOf('2025-03-01T10:00:00.000Z', '2025-03-07T00:00:00.000Z', 'utc');

describe('the strip over time', () => {
  test('is cut into whole days, at most ninety bars of them', () => {
    expect(WEEK).toEqual({
      firstDay: '2025-03-01',
      step: 1,
      bars: 7,
      since: '2025-03-01T00:00:00.000Z',
      until: '2025-03-07T23:59:59.999Z',
    });
    expect(YEAR).toMatchObject({ step: 5, bars: 73, until: '2026-01-02T23:59:59.999Z' });
    expect(frameOf('2025-03-01T10:00:00.000Z', '2025-03-01T22:00:00.000Z', 'utc')).toBeUndefined();
  });

  test('any span of bars is the same bars again after it was days', () => {
    for (const frame of [WEEK, YEAR]) {
      if (!frame) throw new Error('There is no frame.');
      for (let from = 0; from < frame.bars; from += 1) {
        for (let to = from + 1; to <= frame.bars; to += 1) {
          const { since, until } = daysOf(frame, [from, to]);
          expect(barsOf(frame, since || undefined, until || undefined)).toEqual([from, to]);
        }
      }
    }
  });

  test('as far as there is anything, no day is set; days of elsewhere and no days at all leave a bar at least', () => {
    if (!WEEK) throw new Error('There is no frame.');
    expect(daysOf(WEEK, [0, 7])).toEqual({ since: '', until: '' });
    expect(daysOf(WEEK, [2, 3])).toEqual({ since: '2025-03-03', until: '2025-03-03' });
    expect([firstDayOf(WEEK, 2), lastDayBefore(WEEK, 4)]).toEqual(['2025-03-03', '2025-03-04']);
    expect(barsOf(WEEK, undefined, undefined)).toEqual([0, 7]);
    expect(barsOf(WEEK, '2030-01-01', undefined)).toEqual([6, 7]);
    expect(barsOf(WEEK, undefined, '2020-01-01')).toEqual([0, 1]);
    expect(barsOf(WEEK, 'soon', '2025-02-30x')).toEqual([0, 7]);
  });
});
