import type { EventType, LabelFilter } from '../../../../../shared/collection/event.ts';
import type { ReadDatabase } from '../../engine/open.ts';
import { columnOf, countRows, one, selectValues } from '../../engine/queries.ts';
import { type SourceFilter, sourceConditions } from '../sources.ts';
import { type EventIdPage, eventColumns, labelCondition, type SeenMarks } from './eventColumns.ts';
import { IS_NOISE } from './eventNoise.ts';
import { lastEventId } from './events.ts';

/** The filters of a list of events; null matches all. */
export interface EventFilter extends Omit<SourceFilter, 'state' | 'paused'> {
  source: string | null;
  event_type: EventType | null;
  observer: string | null;
  /** Both inclusive. */
  since: string | null;
  until: string | null;
  /** Whether an event is only noise by the current rules of its source. */
  noise: boolean | null;
  /** The label of the version. */
  label: LabelFilter | null;
  /** The events that the owner has seen (`seen`), or has not. Only for lists from the columns. */
  seen: { marks: SeenMarks; seen: boolean } | null;
  /** Ids of events that match the search text by a digest, whatever their source. */
  ids: readonly number[];
}

/** One page of the events that a filter names. Reads the columns, which must be loaded. */
export function listEventIds(
  database: ReadDatabase,
  filter: EventFilter,
  page: { limit: number; offset: number },
): EventIdPage {
  const columns = eventColumns(database);
  columns.catchUp();
  return columns.list({ ...filter, sources: sourceKeys(database, filter) }, page);
}

/** The newest events of all. Needs no columns, so that it can be shown right after a start. */
export function newestEventNumbers(database: ReadDatabase, limit: number): EventIdPage {
  const ids = newestIds(database, limit);
  // An event's number is also how many there were with it.
  return { ids, total: lastEventId(database) };
}

const newestIds = selectValues<number, [limit: number]>(
  'SELECT id FROM events INDEXED BY events_by_time ORDER BY observed_at DESC, id DESC LIMIT ?',
);

/** Whether a filter names every event. */
export function isEveryEvent(filter: Omit<EventFilter, 'ids'>): boolean {
  const { event_type, observer, since, until, noise, label, seen } = filter;
  const others = [event_type, observer, since, until, noise, label, seen];
  return keysOf(filter) === undefined && others.every((value) => value === null);
}

/** Returns the keys of the sources that match; null if all do. */
function sourceKeys(database: ReadDatabase, filter: EventFilter): number[] | null {
  const keys = keysOf(filter);
  if (keys === undefined) return null;
  return columnOf(database, keys, filter);
}

/** Returns the SQL conditions of a filter on events `e`, except those on time and on what was seen. The parameters are the filter's, with `ids` as JSON. */
function eventConditions(filter: EventFilter): string[] {
  const conditions: string[] = [];
  const keys = keysOf(filter);
  if (keys !== undefined) {
    const byId = filter.ids.length > 0 ? ' OR id IN (SELECT value FROM json_each($ids))' : '';
    conditions.push(`(source_key IN (${keys})${byId})`);
  }
  if (filter.event_type !== null) conditions.push('event_type = $event_type');
  if (filter.observer !== null) conditions.push('observer = $observer');
  if (filter.noise !== null) conditions.push(filter.noise ? IS_NOISE : `NOT ${IS_NOISE}`);
  if (filter.label !== null) conditions.push(labelCondition(filter.label));
  return conditions;
}

/** Returns a query for the keys of the sources that match; undefined if all do. */
function keysOf(filter: Omit<EventFilter, 'ids'>): string | undefined {
  const conditions = sourceConditions(filter);
  if (filter.source !== null) conditions.push('id = $source');
  if (conditions.length === 0) return undefined;
  // A single condition on text or tag needs no access to the sources.
  if (conditions.length === 1 && filter.match !== null)
    return 'SELECT rowid FROM source_text WHERE source_text MATCH $match';
  if (conditions.length === 1 && filter.tag !== null)
    return 'SELECT source_key FROM source_tags WHERE tag = $tag';
  return `SELECT key FROM sources WHERE ${conditions.join(' AND ')}`;
}

/**
 * Returns the ids of events whose object or previous object has a digest beginning with each of these prefixes, and
 * whose source matches the filter.
 */
export function eventsByDigests(
  database: ReadDatabase,
  prefixes: readonly string[],
  filter: Omit<EventFilter, 'ids'>,
): number[] {
  const keys = keysOf(filter);
  const hasPrefix = prefixes.map(
    (_prefix, index) => `id IN (
       SELECT id FROM events WHERE sha256 >= $from${index} AND sha256 < $to${index}
       UNION SELECT id FROM events WHERE previous_sha256 >= $from${index} AND previous_sha256 < $to${index})`,
  );
  const parameters: Record<string, unknown> = { ...filter };
  for (const [index, prefix] of prefixes.entries()) {
    parameters[`from${index}`] = prefix;
    // 'g' comes after every hex digit.
    parameters[`to${index}`] = `${prefix}g`;
  }
  const where = keys === undefined ? hasPrefix : [...hasPrefix, `source_key IN (${keys})`];
  return columnOf(database, `SELECT id FROM events WHERE ${where.join(' AND ')}`, parameters);
}

/*
 * Right after a start, the columns of the events are still being loaded: a second of processor time for a million events.
 * What the first pages ask about noise is answered from the tables until then.
 */

/** Counting takes a millisecond for a thousand judged events, during which the node does nothing else. */
const MAX_COUNTED = 200_000;
/** The judged events `n` that are noise by the current rules of their sources. */
const NOISE_EVENTS = `event_noise n JOIN events e ON e.id = n.event JOIN sources s ON s.key = e.source_key
  WHERE n.is_noise = 1 AND n.rules_digest = s.rules_digest`;

/** Whether noise may be counted in the tables. */
export function isNoiseCountable(database: ReadDatabase): boolean {
  return countJudged(database) <= MAX_COUNTED;
}

const countJudged = countRows('event_noise');

/** Returns the newest events that are noise, or that are not, and how many there are. */
export function newestByNoise(database: ReadDatabase, noise: boolean, limit: number): EventIdPage {
  const total = countNoise(database);
  // An event's number is also how many there were with it.
  return noise
    ? { ids: newestNoise(database, limit), total }
    : { ids: newestOthers(database, limit), total: lastEventId(database) - total };
}

const countNoise = countRows(NOISE_EVENTS);
const newestNoise = selectValues<number, [limit: number]>(
  `SELECT e.id FROM ${NOISE_EVENTS} ORDER BY e.observed_at DESC, e.id DESC LIMIT ?`,
);
const newestOthers = selectValues<number, [limit: number]>(`
  SELECT e.id FROM events e INDEXED BY events_by_time WHERE NOT ${IS_NOISE}
  ORDER BY e.observed_at DESC, e.id DESC LIMIT ?`);

/** Returns how many events are unseen: those that are noise, and the others. */
export function countUnseen(
  database: ReadDatabase,
  { until, exceptions }: SeenMarks,
): { unseen: number; unseen_noise: number } {
  const unseen_noise = countUnseenNoise(database, until);
  const unseenBefore = exceptions.filter((id) => id <= until).length;
  const seenAfter = exceptions.length - unseenBefore;
  const all = Math.max(0, lastEventId(database) - until) + unseenBefore - seenAfter;
  return { unseen: all - unseen_noise, unseen_noise };
}

const countUnseenNoise = countRows<[until: number]>(
  `${NOISE_EVENTS} AND (n.event > ?) <> (n.event IN (SELECT event FROM seen_exceptions))`,
);

/** The position of an event in the timeline. */
export interface TimelinePosition {
  observed_at: string;
  id: number;
}

/** The matching events of a scan, newest first, and the position where it ended; null at the end of the timeline. */
interface TimelineScan {
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
  const bounds = ['(observed_at, id) < ($observed_at, $id)'];
  if (filter.since !== null) bounds.push('observed_at >= $since');
  if (filter.until !== null) bounds.push('observed_at <= $until');
  const scanned = `SELECT observed_at, id, source_key, event_type, observer FROM events INDEXED BY events_by_time
    WHERE ${bounds.join(' AND ')} ORDER BY observed_at DESC, id DESC LIMIT $length`;
  const end = one<TimelinePosition & { count: number }>(
    database,
    `SELECT observed_at, id, count(*) OVER () AS count FROM (${scanned}) ORDER BY observed_at, id LIMIT 1`,
    parameters,
  );
  const conditions = eventConditions(filter);
  const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
  const ids = columnOf<number>(
    database,
    `SELECT id FROM (${scanned}) e ${where} ORDER BY observed_at DESC, id DESC`,
    parameters,
  );
  return { ids, end: end && end.count === length ? { observed_at: end.observed_at, id: end.id } : null };
}
