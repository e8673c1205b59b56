import { describe, expect, test } from 'vitest';
import { queryOf } from '../../renderer/src/pages/timeline/EventFilterBar.tsx';
import {
  BLOCK,
  blocksFor,
  type EventPage,
  eventAt,
  rankOf,
  sliceOf,
} from '../../renderer/src/pages/timeline/useEventRows.ts';
import { elementHeightOf, ScaledScroll } from '../../renderer/src/pages/timeline/useVirtualRows.ts';
import type { Event } from '../../shared/collection/event.ts';

/** The response of a node with `total` events, whose ids count from the oldest. */
function pageOf(total: number, offset: number, limit: number): EventPage {
  const count = Math.max(0, Math.min(limit, total - offset));
  const items = Array.from({ length: count }, (_, index) => ({ id: total - offset - index }) as Event);
  return { items, total, offset };
}

describe('rows keep their place while events arrive', () => {
  test('the rank of an event does not depend on later events', () => {
    for (const total of [250, 251, 999]) {
      const { offset, limit } = sliceOf(1, total);
      const page = pageOf(total, offset, limit);
      expect(eventAt(page, 100)?.id).toBe(101);
      expect(eventAt(page, 199)?.id).toBe(200);
      expect(eventAt(page, 200)).toBeUndefined();
    }
  });

  test('visible rows are requested unless the newest page contains them', () => {
    const total = 1_000;
    const newest = pageOf(total, 0, BLOCK);
    expect(blocksFor(0, 99, total, newest)).toEqual([]);
    expect(blocksFor(90, 110, total, newest)).toEqual([8]);
    expect(blocksFor(480, 520, total, newest)).toEqual([4, 5]);
    expect(blocksFor(990, 999, total, newest)).toEqual([0]);
    expect(blocksFor(0, 20, 3, pageOf(3, 0, BLOCK))).toEqual([]);
  });

  test('a list with fewer rows than events shows the older ones', () => {
    expect(rankOf(0, 10)).toBe(9);
    expect(eventAt(pageOf(13, 0, BLOCK), rankOf(0, 10))?.id).toBe(10);
  });
});

describe('a list taller than the maximum element height scrolls', () => {
  const VIEW = 700;

  function opened(listHeight: number): ScaledScroll {
    const scroll = new ScaledScroll();
    scroll.resize(listHeight, VIEW);
    return scroll;
  }

  test('a list that fits scrolls natively', () => {
    const scroll = opened(50_000);
    scroll.scrolled(12_345);
    expect([scroll.offset, scroll.shift]).toEqual([12_345, 0]);
    expect(elementHeightOf(50_000)).toBe(50_000);
  });

  test('the wheel scrolls by its pixels anywhere, and coming to rest moves no visible row', () => {
    const height = 62_000_000;
    for (const start of [0, 500_000, 30_000_000, 61_500_000]) {
      const scroll = opened(height);
      let top = scroll.goTo(start);
      for (let turn = 0; turn < 50; turn += 1) {
        scroll.scrolled(top + 120);
        expect(scroll.offset).toBe(start + (turn + 1) * 120);
        top = scroll.settle();
        expect(scroll.offset).toBe(start + (turn + 1) * 120);
      }
    }
  });

  test('the scroll bar represents the whole list: ends map to ends, the middle to the middle', () => {
    const height = 62_000_000;
    const maxTop = elementHeightOf(height) - VIEW;
    const scroll = opened(height);
    scroll.scrolled(maxTop);
    expect(scroll.offset).toBe(height - VIEW);
    scroll.scrolled(maxTop / 2);
    expect(scroll.offset).toBeCloseTo((height - VIEW) / 2, 0);
    scroll.scrolled(0);
    expect([scroll.offset, scroll.shift]).toEqual([0, 0]);
  });

  test('every list position maps to a scroll position and back', () => {
    const scroll = opened(62_000_000);
    for (let offset = 0; offset <= 62_000_000 - VIEW; offset += 1_234_567) {
      const top = scroll.goTo(offset);
      expect(scroll.offset).toBe(offset);
      expect(scroll.settle()).toBe(top);
    }
  });
});

describe('the filters in the address', () => {
  test('invalid filters are ignored, and a day means the whole day in the time zone', () => {
    const query = queryOf(
      { q: 'water', event_type: 'exploded', source: 'so_1', since: '2026-11-20', until: '2026-11-20' },
      'utc',
    );
    expect(query).toEqual({
      q: 'water',
      event_type: undefined,
      source: undefined,
      since: '2026-11-20T00:00:00.000Z',
      until: '2026-11-20T23:59:59.999Z',
    });
    expect(queryOf({ since: 'soon' }, 'local').since).toBeUndefined();
    const local = queryOf({ since: '2026-03-29', until: '2026-03-29' }, 'local');
    expect(new Date(local.since ?? '').getHours()).toBe(0);
    expect(new Date(local.until ?? '').getHours()).toBe(23);
  });
});
