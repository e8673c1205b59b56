import type { EventDensity, EventDensityQuery } from '../../../shared/collection/event.ts';
import { eventColumns } from '../../store/sqlite/collection/eventColumns.ts';
import type { Store } from '../../store/store.ts';
import { firstInstantOf, lastInstantOf, loadTimeline } from './events.ts';

/**
 * Counts the events observed in each of `buckets` buckets of equal length. Each bucket boundary takes a binary search.
 */
export async function readEventDensity(
  { read }: Pick<Store, 'read'>,
  query: EventDensityQuery,
): Promise<EventDensity> {
  await loadTimeline({ read });
  return read
    .transaction(() => {
      const columns = eventColumns(read);
      columns.catchUp();
      const extent = columns.extent();
      const since = query.since === undefined ? (extent?.first ?? null) : firstInstantOf(query.since);
      const until = query.until === undefined ? (extent?.last ?? null) : lastInstantOf(query.until);
      if (since === null || until === null) return { since, until, total: 0, counts: [] };
      const before = [
        ...edgesBetween(since, until, query.buckets).map((edge) => columns.countBefore(edge)),
        columns.countUntil(until),
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
