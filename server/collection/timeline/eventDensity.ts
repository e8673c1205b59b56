import type { EventDensity, EventDensityQuery } from '../../../shared/collection/event.ts';
import { type EventColumns, eventColumns } from '../../store/sqlite/collection/timeline/eventColumns.ts';
import { EVERY_EVENT } from '../../store/sqlite/collection/timeline/eventCriteria.ts';
import type { Store } from '../../store/store.ts';
import { firstInstantOf, lastInstantOf, loadTimeline } from './events.ts';

/**
 * Counts the events observed in each of `buckets` buckets of equal length. Each bucket boundary takes a binary search;
 * with `noise`, every event between them is read too.
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
      const counts = countsBetween(columns, edgesBetween(since, until, query.buckets), until, query.noise);
      return { since, until, total: counts.reduce((sum, count) => sum + count, 0), counts };
    })
    .deferred();
}

function countsBetween(
  columns: EventColumns,
  starts: readonly string[],
  until: string,
  noise: boolean | undefined,
): number[] {
  if (noise === undefined) {
    const before = [...starts.map((start) => columns.countBefore(start)), columns.countUntil(until)];
    return before.slice(1).map((count, index) => Math.max(0, count - (before[index] ?? 0)));
  }
  return starts.map((since, index) => {
    const next = starts[index + 1];
    const last = next === undefined ? until : new Date(Date.parse(next) - 1).toISOString();
    return columns.list({ ...EVERY_EVENT, noise, since, until: last }, { limit: 0, offset: 0 }).total;
  });
}

/** Returns the start of each bucket. The last one ends with `until`, inclusive. */
function edgesBetween(since: string, until: string, buckets: number): string[] {
  const start = Date.parse(since);
  const length = Math.max(0, Date.parse(until) + 1 - start) / buckets;
  return Array.from({ length: buckets }, (_, index) =>
    new Date(Math.round(start + index * length)).toISOString(),
  );
}
