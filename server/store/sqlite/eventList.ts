import type { EventType } from '../../../shared/event.ts';
import { countUntil, idsByRank } from './eventRanks.ts';
import { type ReadDatabase, statement } from './open.ts';
import { type SourceFilter, sourceConditions } from './sources.ts';

/** Which events a list names; null names all. */
export interface EventFilter extends Omit<SourceFilter, 'state'> {
  source: string | null;
  event_type: EventType | null;
  observer: string | null;
  /** Both inclusive. */
  since: string | null;
  until: string | null;
  /** Numbers of events that the search text names by their digests, whatever their source. */
  ids: readonly number[];
}

/** The numbers of one page of events, newest first, and how many there are. */
export interface EventNumbers {
  ids: number[];
  total: number;
}

/**
 * Events share the words of their source, so sources are searched first. How many events a source has of which type
 * and observer is counted as they are recorded; with that it is known beforehand whether it is quicker to walk down the
 * timeline until the page is full, or to gather the events of the few sources that match.
 */
export function listEventNumbers(
  database: ReadDatabase,
  filter: EventFilter,
  { limit, offset }: { limit: number; offset: number },
): EventNumbers {
  const plan = planOf(filter);
  if (!plan.hasConditions) return listByRank(database, filter, { limit, offset });
  const parameters = { ...filter, ids: JSON.stringify(filter.ids), limit, offset };
  const counts = countOf(database, plan, parameters);
  const total = plan.ranged
    ? countInRange(database, plan, counts, parameters)
    : counts.matching + counts.extra;
  if (total <= offset) return { ids: [], total };
  const byTime = plan.keys === undefined || walksQuicker(counts, limit + offset);
  const from = byTime ? walkOf(plan, filter) : gatherOf(plan);
  const ids = statement<{ id: number }>(
    database,
    `SELECT id FROM ${from} ORDER BY observed_at DESC, id DESC LIMIT @limit OFFSET @offset`,
  )
    .all(parameters)
    .map(({ id }) => id);
  return { ids, total };
}

interface Plan {
  /** The sources that match, as a query of their keys; undefined where every source does. */
  keys: string | undefined;
  /** Conditions on an event's own columns. */
  own: string[];
  /** All conditions. */
  where: string[];
  /** Whether anything but time chooses the events. */
  hasConditions: boolean;
  ranged: boolean;
  hasIds: boolean;
}

type Parameters = Omit<EventFilter, 'ids'> & { ids: string; limit: number; offset: number };

function planOf(filter: EventFilter): Plan {
  const keys = keysOf(filter);
  const hasIds = filter.match !== null && filter.ids.length > 0;
  const own: string[] = [];
  if (filter.event_type !== null) own.push('event_type = @event_type');
  if (filter.observer !== null) own.push('observer = @observer');
  const hasConditions = keys !== undefined || own.length > 0;
  if (filter.since !== null) own.push('observed_at >= @since');
  if (filter.until !== null) own.push('observed_at <= @until');
  const bySource = keys === undefined ? [] : [`source_key IN (${keys})`];
  const bySourceOrId = hasIds
    ? [`(${bySource.join('')} OR id IN (SELECT value FROM json_each(@ids)))`]
    : bySource;
  const ranged = filter.since !== null || filter.until !== null;
  return { keys, own, where: [...bySourceOrId, ...own], hasConditions, ranged, hasIds };
}

/** All conditions of a filter on an event; its parameters are the filter's own, `ids` as JSON. */
export function eventConditions(filter: EventFilter): string[] {
  return planOf(filter).where;
}

function keysOf(filter: EventFilter): string | undefined {
  const conditions = sourceConditions(filter);
  if (filter.source !== null) conditions.push('id = @source');
  if (conditions.length === 0) return undefined;
  const onlyWords = conditions.length === 1 && filter.match !== null;
  if (onlyWords) return 'SELECT rowid FROM source_text WHERE source_text MATCH @match';
  return `SELECT key FROM sources WHERE ${conditions.join(' AND ')}`;
}

/** Events that time alone chooses lie beside each other in the timeline: they are found by their ranks. */
function listByRank(
  database: ReadDatabase,
  { since, until }: Pick<EventFilter, 'since' | 'until'>,
  { limit, offset }: { limit: number; offset: number },
): EventNumbers {
  const before = since === null ? 0 : countUntil(database, since, { inclusive: false });
  const last = until === null ? countUntil(database) : countUntil(database, until, { inclusive: true });
  const total = Math.max(0, last - before);
  return { ids: idsByRank(database, last - offset, Math.min(limit, total - offset)), total };
}

interface Counts {
  /** Events of the sources that match, of the type and observer asked for; and of any. */
  matching: number;
  ofSources: number;
  /** Events named by number whose source does not match. */
  extra: number;
  /** Events that a walk goes over: all, or all of the type asked for. */
  walked: number;
}

function countOf(database: ReadDatabase, plan: Plan, parameters: Parameters): Counts {
  const own: string[] = [];
  if (parameters.event_type !== null) own.push('event_type = @event_type');
  if (parameters.observer !== null) own.push('observer = @observer');
  const test = own.length > 0 ? own.join(' AND ') : 'true';
  const sum = (where: string, filter = 'true') =>
    statement<{ matching: number; all: number }>(
      database,
      `SELECT coalesce(sum(count) FILTER (WHERE ${filter}), 0) AS matching, coalesce(sum(count), 0) AS "all"
       FROM event_counts WHERE ${where}`,
    ).get(parameters) ?? { matching: 0, all: 0 };
  const ofType = parameters.event_type === null ? 'true' : 'event_type = @event_type';
  const walked = sum(`source_key = 0 AND ${ofType}`).all;
  const { matching, all: ofSources } = sum(
    plan.keys === undefined ? 'source_key = 0' : `source_key IN (${plan.keys})`,
    test,
  );
  if (!plan.hasIds) return { matching, ofSources, extra: 0, walked };
  const extra = statement<{ count: number }>(
    database,
    `SELECT count(*) AS count FROM events WHERE id IN (SELECT value FROM json_each(@ids))
     AND source_key NOT IN (${plan.keys}) AND ${test}`,
  ).get(parameters)?.count;
  return { matching, ofSources, extra: extra ?? 0, walked };
}

/** Within a range of time nothing is counted beforehand. */
function countInRange(database: ReadDatabase, plan: Plan, counts: Counts, parameters: Parameters): number {
  const from =
    plan.keys !== undefined && counts.ofSources < counts.walked / 4
      ? gatherOf(plan)
      : walkOf(plan, parameters);
  return (
    statement<{ count: number }>(database, `SELECT count(*) AS count FROM ${from}`).get(parameters)?.count ??
    0
  );
}

/** Sorting what was gathered costs about this much more for each event than walking over one. */
const GATHER_COST = 4;

function walksQuicker({ matching, extra, ofSources, walked }: Counts, wanted: number): boolean {
  const share = (matching + extra) / Math.max(1, walked);
  return wanted / Math.max(share, 1e-9) < ofSources * GATHER_COST;
}

/** The events that match, along an index in the order of time. */
function walkOf({ where }: Plan, { event_type }: Pick<EventFilter, 'event_type'>): string {
  const index = event_type === null ? 'events_by_time' : 'events_by_type';
  return `events INDEXED BY ${index}${where.length > 0 ? ` WHERE ${where.join(' AND ')}` : ''}`;
}

/** The events that match, source by source. */
function gatherOf({ keys, own, hasIds }: Plan): string {
  if (keys === undefined) throw new Error('Events are gathered by source only where sources are named.');
  const test = own.length > 0 ? ` AND ${own.join(' AND ')}` : '';
  const bySource = `SELECT id, observed_at FROM events INDEXED BY events_by_source WHERE source_key IN (${keys})${test}`;
  if (!hasIds) return `(${bySource})`;
  return `(${bySource} UNION SELECT id, observed_at FROM events WHERE id IN (SELECT value FROM json_each(@ids))${test})`;
}

/**
 * The numbers of events whose object, or the one it replaced, has a digest that begins with each of these prefixes,
 * and whose source matches the filter.
 */
export function eventsByDigests(
  database: ReadDatabase,
  prefixes: readonly string[],
  filter: Omit<EventFilter, 'ids'>,
): number[] {
  const { keys } = planOf({ ...filter, ids: [] });
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
