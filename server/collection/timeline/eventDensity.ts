import type { EventDensity, EventDensityQuery } from '../../../shared/event.ts';
import { countUntil, timeExtent } from '../../store/sqlite/collection/eventRanks.ts';
import type { Store } from '../../store/store.ts';
import { firstInstantOf, lastInstantOf } from './events.ts';

/**
 * Counts the events observed in each of `buckets` buckets of equal length. Each bucket boundary takes one indexed lookup,
 * however many events there are.
 */
export function readEventDensity({ read }: Pick<Store, 'read'>, query: EventDensityQuery): EventDensity {
  return read
    .transaction(() => {
      const extent = timeExtent(read);
      const since = query.since === undefined ? (extent?.first ?? null) : firstInstantOf(query.since);
      const until = query.until === undefined ? (extent?.last ?? null) : lastInstantOf(query.until);
      if (since === null || until === null) return { since, until, total: 0, counts: [] };
      const before = [
        ...edgesBetween(since, until, query.buckets).map((edge) =>
          countUntil(read, edge, { inclusive: false }),
        ),
        countUntil(read, until),
      ];
      const counts = before.slice(1).map((count, index) => Math.max(0, count - (before[index] ?? 0)));
      return { since, until, total: counts.reduce((sum, count) => sum + count, 0), counts };
    })
    .deferred();
}

/** Returns the start of each bucket. The last one ends with `until`, inclusive. */
function edgesBetween(since: string, until: string, buckets: number): string[] {
  const start = Date.parse(since);
  const length = Math.max(0, Date.parse(until) + 1 - start) / buckets;
  return Array.from({ length: buckets }, (_, index) =>
    new Date(Math.round(start + index * length)).toISOString(),
  );
}
