import type { EventType, LabelFilter } from '../../../../../shared/collection/event.ts';
import { type ReadDatabase, statement } from '../../engine/open.ts';
import { type SourceFilter, sourceConditions } from '../sourceFilter.ts';
import { type EventIdPage, eventColumns } from './eventColumns.ts';
import { labelCondition } from './eventLabels.ts';
import { IS_NOISE } from './eventNoise.ts';
import { lastEventId } from './events.ts';
import type { SeenMarks } from './seenEvents.ts';

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
  const ids = statement<number>(
    database,
    'SELECT id FROM events INDEXED BY events_by_time ORDER BY observed_at DESC, id DESC LIMIT ?',
  )
    .pluck()
    .all(limit);
  // An event's number is also how many there were with it.
  return { ids, total: lastEventId(database) };
}

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
  return statement<number>(database, keys).pluck().all(filter);
}

/** Returns the SQL conditions of a filter on events `e`, except those on time and on what was seen. The parameters are the filter's, with `ids` as JSON. */
export function eventConditions(filter: EventFilter): string[] {
  const conditions: string[] = [];
  const keys = keysOf(filter);
  if (keys !== undefined) {
    const byId = filter.ids.length > 0 ? ' OR id IN (SELECT value FROM json_each(@ids))' : '';
    conditions.push(`(source_key IN (${keys})${byId})`);
  }
  if (filter.event_type !== null) conditions.push('event_type = @event_type');
  if (filter.observer !== null) conditions.push('observer = @observer');
  if (filter.noise !== null) conditions.push(filter.noise ? IS_NOISE : `NOT ${IS_NOISE}`);
  if (filter.label !== null) conditions.push(labelCondition(filter.label));
  return conditions;
}

/** Returns a query for the keys of the sources that match; undefined if all do. */
function keysOf(filter: Omit<EventFilter, 'ids'>): string | undefined {
  const conditions = sourceConditions(filter);
  if (filter.source !== null) conditions.push('id = @source');
  if (conditions.length === 0) return undefined;
  // A single condition on text or tag needs no access to the sources.
  if (conditions.length === 1 && filter.match !== null)
    return 'SELECT rowid FROM source_text WHERE source_text MATCH @match';
  if (conditions.length === 1 && filter.tag !== null)
    return 'SELECT source_key FROM source_tags WHERE tag = @tag';
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
       SELECT id FROM events WHERE sha256 >= @from${index} AND sha256 < @to${index}
       UNION SELECT id FROM events WHERE previous_sha256 >= @from${index} AND previous_sha256 < @to${index})`,
  );
  const parameters: Record<string, unknown> = { ...filter };
  for (const [index, prefix] of prefixes.entries()) {
    parameters[`from${index}`] = prefix;
    // 'g' comes after every hex digit.
    parameters[`to${index}`] = `${prefix}g`;
  }
  const where = keys === undefined ? hasPrefix : [...hasPrefix, `source_key IN (${keys})`];
  return statement<{ id: number }>(database, `SELECT id FROM events WHERE ${where.join(' AND ')}`)
    .all(parameters)
    .map(({ id }) => id);
}
