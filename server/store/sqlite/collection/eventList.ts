import type { EventType } from '../../../../shared/event.ts';
import { type ReadDatabase, statement } from '../engine/open.ts';
import { type EventIdPage, eventColumns } from './eventColumns.ts';
import { countUntil, idsByRank } from './eventRanks.ts';
import { type SourceFilter, sourceConditions } from './sourceFilter.ts';

/** The filters of a list of events; null matches all. */
export interface EventFilter extends Omit<SourceFilter, 'state'> {
  source: string | null;
  event_type: EventType | null;
  observer: string | null;
  /** Both inclusive. */
  since: string | null;
  until: string | null;
  /** Ids of events that match the search text by a digest, whatever their source. */
  ids: readonly number[];
}

/**
 * One page of the events that a filter names. Those that time alone chooses lie beside each other in the timeline and
 * are found by their ranks; any others by going over the columns, which must be loaded.
 */
export function listEventIds(
  database: ReadDatabase,
  filter: EventFilter,
  page: { limit: number; offset: number },
): EventIdPage {
  if (filtersByTimeOnly(filter)) return listByRank(database, filter, page);
  const columns = eventColumns(database);
  columns.catchUp();
  return columns.list({ ...filter, sources: sourceKeys(database, filter) }, page);
}

/** Whether nothing but time chooses the events. */
export function filtersByTimeOnly(filter: Omit<EventFilter, 'ids'>): boolean {
  return keysOf(filter) === undefined && filter.event_type === null && filter.observer === null;
}

/** Returns the keys of the sources that match; null if all do. */
function sourceKeys(database: ReadDatabase, filter: EventFilter): number[] | null {
  const keys = keysOf(filter);
  if (keys === undefined) return null;
  return statement<number>(database, keys).pluck().all(filter);
}

/** Returns the SQL conditions of a filter, except those on time. The parameters are the filter's, with `ids` as JSON. */
export function eventConditions(filter: EventFilter): string[] {
  const conditions: string[] = [];
  const keys = keysOf(filter);
  if (keys !== undefined) {
    const byId = filter.ids.length > 0 ? ' OR id IN (SELECT value FROM json_each(@ids))' : '';
    conditions.push(`(source_key IN (${keys})${byId})`);
  }
  if (filter.event_type !== null) conditions.push('event_type = @event_type');
  if (filter.observer !== null) conditions.push('observer = @observer');
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

/** Events that time alone chooses. */
function listByRank(
  database: ReadDatabase,
  { since, until }: Pick<EventFilter, 'since' | 'until'>,
  { limit, offset }: { limit: number; offset: number },
): EventIdPage {
  const before = since === null ? 0 : countUntil(database, since, { inclusive: false });
  const last = until === null ? countUntil(database) : countUntil(database, until, { inclusive: true });
  const total = Math.max(0, last - before);
  return { ids: idsByRank(database, last - offset, Math.min(limit, total - offset)), total };
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
