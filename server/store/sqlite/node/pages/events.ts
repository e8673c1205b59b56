import type { Connection } from '../../../../../shared/collection/connection.ts';
import type { Event } from '../../../../../shared/collection/event.ts';
import { eventsByIds } from '../../collection/timeline/events.ts';
import { type ReadDatabase, statement } from '../../engine/open.ts';

/** A part of the timeline: of one source or of all, between two instants (the second excluded), up to an event. */
export interface EventRange {
  source_key?: number | undefined;
  since?: string | undefined;
  before?: string | undefined;
  /** The last event that belongs to it. */
  last: number;
}

/** Returns the last event that a ledger of this size records; 0 if there is none. */
export function lastEventOfLedger(database: ReadDatabase, size: number): number {
  return (
    statement<{ id: number }>(
      database,
      'SELECT id FROM events WHERE ledger_entry <= ? ORDER BY ledger_entry DESC LIMIT 1',
    ).get(size)?.id ?? 0
  );
}

function fromRange({ source_key, since = '', before = '~', last }: EventRange): {
  sql: string;
  values: Record<string, unknown>;
} {
  const index = source_key === undefined ? 'events_by_time' : 'events_by_source';
  const source = source_key === undefined ? '' : 'source_key = @source_key AND ';
  return {
    sql: `FROM events INDEXED BY ${index}
      WHERE ${source}observed_at >= @since AND observed_at < @before AND id <= @last`,
    values: { ...(source_key !== undefined && { source_key }), since, before, last },
  };
}

export function countEventsOf(database: ReadDatabase, range: EventRange): number {
  const { sql, values } = fromRange(range);
  return statement<{ count: number }>(database, `SELECT count(*) AS count ${sql}`).get(values)?.count ?? 0;
}

/** Returns events of a range in the order of their instants, oldest first or newest first. */
export function eventsOf(
  database: ReadDatabase,
  range: EventRange,
  { offset = 0, limit, newest = false }: { offset?: number; limit: number; newest?: boolean },
): Event[] {
  const { sql, values } = fromRange(range);
  const direction = newest ? 'DESC' : 'ASC';
  const ids = statement<number>(
    database,
    `SELECT id ${sql} ORDER BY observed_at ${direction}, id ${direction} LIMIT @limit OFFSET @offset`,
  )
    .pluck()
    .all({ ...values, limit, offset });
  return eventsByIds(database, ids);
}

/** What a list needs to know of a new event. */
export interface NewEventRow {
  id: number;
  source_key: number;
  observed_at: string;
}

/** Returns the events after an id up to another, in order. */
export function newEvents(
  database: ReadDatabase,
  { after, last, limit }: { after: number; last: number; limit: number },
): NewEventRow[] {
  return statement<NewEventRow>(
    database,
    'SELECT id, source_key, observed_at FROM events WHERE id > ? AND id <= ? ORDER BY id LIMIT ?',
  ).all(after, last, limit);
}

/** Returns the events of a source after an id, in order. */
export function eventIdsOfSource(
  database: ReadDatabase,
  source: number,
  { after, last, limit }: { after: number; last: number; limit: number },
): number[] {
  return statement<number>(
    database,
    'SELECT id FROM events WHERE source_key = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?',
  )
    .pluck()
    .all(source, after, last, limit);
}

/** Returns the events that name an object. */
export function eventsNaming(database: ReadDatabase, sha256: string, last: number): number[] {
  return statement<number>(
    database,
    `SELECT id FROM events WHERE sha256 = @sha256 AND id <= @last
     UNION SELECT id FROM events WHERE previous_sha256 = @sha256 AND id <= @last`,
  )
    .pluck()
    .all({ sha256, last });
}

/** How an event's object was retrieved. */
export interface EventRetrieval {
  retrieval: number;
  final_url: string;
  status: number | null;
  error: string | null;
  content_type: string | null;
  bytes: number | null;
  connection: Connection | null;
}

export function retrievalOfEvent(database: ReadDatabase, id: number): EventRetrieval | undefined {
  const row = statement<Omit<EventRetrieval, 'connection'> & { connection: string | null }>(
    database,
    `SELECT e.retrieval, r.final_url, r.status, r.error, r.content_type, r.bytes, r.connection
     FROM events e JOIN retrievals r ON r.id = e.retrieval WHERE e.id = ?`,
  ).get(id);
  return (
    row && { ...row, connection: row.connection === null ? null : (JSON.parse(row.connection) as Connection) }
  );
}

/** Returns the event of the same source and observer before one. */
export function eventBefore(database: ReadDatabase, { id, observed_at }: Event): number | undefined {
  return statement<number>(
    database,
    `SELECT p.id FROM events e JOIN events p INDEXED BY events_by_source
     ON p.source_key = e.source_key AND (p.observed_at, p.id) < (@observed_at, @id)
     WHERE e.id = @id AND p.id < @id ORDER BY p.observed_at DESC, p.id DESC LIMIT 1`,
  )
    .pluck()
    .get({ id, observed_at });
}

/** Returns the first and the last instant of the events up to an id. */
export function eventExtent(
  database: ReadDatabase,
  last: number,
): { first: string; last: string } | undefined {
  const edge = (direction: 'ASC' | 'DESC') =>
    statement<string>(
      database,
      `SELECT observed_at FROM events INDEXED BY events_by_time WHERE id <= ?
       ORDER BY observed_at ${direction}, id LIMIT 1`,
    )
      .pluck()
      .get(last);
  const first = edge('ASC');
  const end = edge('DESC');
  return first === undefined || end === undefined ? undefined : { first, last: end };
}
