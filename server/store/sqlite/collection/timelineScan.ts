import { type ReadDatabase, statement } from '../engine/open.ts';
import { type EventFilter, eventConditions } from './eventList.ts';

/** A place in the timeline: that of an event. */
export interface TimelinePosition {
  observed_at: string;
  id: number;
}

/** The events of a stretch that match, newest first, and the place where it ends; null at the timeline's beginning. */
export interface Stretch {
  ids: number[];
  end: TimelinePosition | null;
}

/** After every place that there can be. */
const TOP: TimelinePosition = { observed_at: '\uffff', id: 0 };

/**
 * Goes down the timeline over the next `length` events after a place, and names those that match. However few match,
 * one stretch costs no more than its length.
 */
export function scanTimeline(
  database: ReadDatabase,
  filter: EventFilter,
  after: TimelinePosition | undefined,
  length: number,
): Stretch {
  const { observed_at, id } = after ?? TOP;
  const parameters = { ...filter, ids: JSON.stringify(filter.ids), observed_at, id, length };
  const bounds = ['(observed_at, id) < (@observed_at, @id)'];
  if (filter.since !== null) bounds.push('observed_at >= @since');
  if (filter.until !== null) bounds.push('observed_at <= @until');
  const stretch = `SELECT observed_at, id, source_key, event_type, observer FROM events INDEXED BY events_by_time
    WHERE ${bounds.join(' AND ')} ORDER BY observed_at DESC, id DESC LIMIT @length`;
  const end = statement<TimelinePosition & { count: number }>(
    database,
    `SELECT observed_at, id, count(*) OVER () AS count FROM (${stretch}) ORDER BY observed_at, id LIMIT 1`,
  ).get(parameters);
  const conditions = eventConditions(filter);
  const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
  const ids = statement<{ id: number }>(
    database,
    `SELECT id FROM (${stretch}) ${where} ORDER BY observed_at DESC, id DESC`,
  )
    .all(parameters)
    .map((row) => row.id);
  return { ids, end: end && end.count === length ? { observed_at: end.observed_at, id: end.id } : null };
}
