import { describe, expect, test } from 'vitest';
import {
  barsOf,
  daysOf,
  firstDayOf,
  frameOf,
  lastDayBefore,
} from '../../renderer/src/pages/timeline/DensityStrip.tsx';

const YEAR = frameOf('2025-01-03T10:00:00.000Z', '2025-12-31T23:00:00.000Z', 'utc');
const WEEK = frameOf('2025-03-01T10:00:00.000Z', '2025-03-07T00:00:00.000Z', 'utc');

describe('the event histogram', () => {
  test('is divided into whole days, with at most ninety bars', () => {
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

  test('maps any span of bars to days and back to the same bars', () => {
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

  test('sets no day for the whole range, and selects at least one bar for days outside it', () => {
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
