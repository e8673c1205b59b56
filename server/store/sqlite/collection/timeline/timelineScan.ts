import { type ReadDatabase, statement } from '../../engine/open.ts';
import { type EventFilter, eventConditions } from './eventList.ts';

/** The position of an event in the timeline. */
export interface TimelinePosition {
  observed_at: string;
  id: number;
}

/** The matching events of a scan, newest first, and the position where it ended; null at the end of the timeline. */
export interface TimelineScan {
  ids: number[];
  end: TimelinePosition | null;
}

/** A position newer than every event. */
const TOP: TimelinePosition = { observed_at: '\uffff', id: 0 };

/**
 * Scans the next `length` events of the timeline, from newer to older, and returns those that match. The cost depends
 * only on `length`, not on the number of matches.
 */
export function scanTimeline(
  database: ReadDatabase,
  filter: EventFilter,
  after: TimelinePosition | undefined,
  length: number,
): TimelineScan {
  const { observed_at, id } = after ?? TOP;
  const { noise: _inConditions, seen: _notHere, ...values } = filter;
  const parameters = { ...values, ids: JSON.stringify(filter.ids), observed_at, id, length };
  const bounds = ['(observed_at, id) < (@observed_at, @id)'];
  if (filter.since !== null) bounds.push('observed_at >= @since');
  if (filter.until !== null) bounds.push('observed_at <= @until');
  const scanned = `SELECT observed_at, id, source_key, event_type, observer FROM events INDEXED BY events_by_time
    WHERE ${bounds.join(' AND ')} ORDER BY observed_at DESC, id DESC LIMIT @length`;
  const end = statement<TimelinePosition & { count: number }>(
    database,
    `SELECT observed_at, id, count(*) OVER () AS count FROM (${scanned}) ORDER BY observed_at, id LIMIT 1`,
  ).get(parameters);
  const conditions = eventConditions(filter);
  const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
  const ids = statement<{ id: number }>(
    database,
    `SELECT id FROM (${scanned}) e ${where} ORDER BY observed_at DESC, id DESC`,
  )
    .all(parameters)
    .map((row) => row.id);
  return { ids, end: end && end.count === length ? { observed_at: end.observed_at, id: end.id } : null };
}
