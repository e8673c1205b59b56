import type { Event, EventNeighbours, EventType, PageLabel } from '../../../../../shared/collection/event.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../../engine/open.ts';
import { IS_NOISE_COLUMN } from './eventNoise.ts';
import { SUMMARY_COLUMN } from './eventSummaries.ts';

/** A new event. */
export interface NewEvent {
  id: number;
  source_key: number;
  retrieval: number;
  event_type: EventType;
  observer: string;
  observed_at: string;
  original_observed_at: string | null;
  sha256: string | null;
  previous_sha256: string | null;
  reverts_to: number | null;
  page_label: PageLabel | null;
  ledger_entry: number;
}

/** Returns the id of the next event. Valid only inside the transaction that records it. */
export function nextEventId(database: WriteDatabase): number {
  return lastEventId(database) + 1;
}

/** Returns the id of the last event, which is also the number of events. */
export function lastEventId(database: ReadDatabase): number {
  return statement<{ id: number }>(database, 'SELECT coalesce(max(id), 0) AS id FROM events').get()?.id ?? 0;
}

export function insertEvent(database: WriteDatabase, event: NewEvent): void {
  statement(
    database,
    `INSERT INTO events (id, source_key, retrieval, event_type, observer, observed_at, original_observed_at, sha256,
       previous_sha256, reverts_to, page_label, ledger_entry)
     VALUES (@id, @source_key, @retrieval, @event_type, @observer, @observed_at, @original_observed_at, @sha256,
       @previous_sha256, @reverts_to, @page_label, @ledger_entry)`,
  ).run({ ...event, page_label: event.page_label && JSON.stringify(event.page_label) });
}

/** Returns the id of the first event with an object as a version of a source, by an observer. */
export function firstEventWith(
  database: ReadDatabase,
  version: { source_key: number; observer: string; sha256: string },
): number | undefined {
  return (
    statement<{ id: number | null }>(
      database,
      `SELECT min(id) AS id FROM events WHERE sha256 = @sha256 AND source_key = @source_key AND observer = @observer
       AND event_type IN ('first_seen', 'changed')`,
    ).get(version)?.id ?? undefined
  );
}

type Stored = Omit<Event, 'source' | 'page_label' | 'is_noise'> & {
  is_noise: number | null;
  source_id: string;
  url: string;
  name: string;
  agency: string;
  tags: string;
  page_label: string | null;
};

/** The columns of an event, from `events e` joined with its source `s`. */
const EVENT_COLUMNS = `e.id, s.id AS source_id, s.url, s.name, s.agency, s.tags, e.event_type, e.observer,
  e.observed_at, e.original_observed_at, e.sha256, e.previous_sha256, e.reverts_to, e.page_label, e.ledger_entry,
  ${IS_NOISE_COLUMN}, ${SUMMARY_COLUMN}`;

function eventFromStored(row: Stored): Event {
  const { source_id, url, name, agency, tags, page_label, is_noise, ...event } = row;
  return {
    ...event,
    source: { id: source_id, url, name, agency, tags: JSON.parse(tags) as string[] },
    page_label: page_label === null ? null : (JSON.parse(page_label) as PageLabel),
    is_noise: is_noise === null ? null : is_noise === 1,
  };
}

export function eventById(database: ReadDatabase, id: number): Event | undefined {
  const row = statement<Stored>(
    database,
    `SELECT ${EVENT_COLUMNS} FROM events e JOIN sources s ON s.key = e.source_key WHERE e.id = ?`,
  ).get(id);
  return row && eventFromStored(row);
}

/** Returns when the node itself last recorded an event of a source. Captures by others say nothing about its state. */
export function lastEventAt(database: ReadDatabase, sourceKey: number): string | undefined {
  return statement<{ at: string }>(
    database,
    `SELECT observed_at AS at FROM events INDEXED BY events_by_source
     WHERE source_key = ? AND observer = 'self' ORDER BY observed_at DESC, id DESC LIMIT 1`,
  ).get(sourceKey)?.at;
}

/** Returns the newest captured event of a source, or undefined if others captured no version of it. */
export function lastCapturedEvent(
  database: ReadDatabase,
  sourceKey: number,
): { type: EventType; at: string } | undefined {
  return statement<{ type: EventType; at: string }>(
    database,
    `SELECT event_type AS type, observed_at AS at FROM events INDEXED BY events_by_source
     WHERE source_key = ? AND observer <> 'self' ORDER BY observed_at DESC, id DESC LIMIT 1`,
  ).get(sourceKey);
}

/** Returns the label of a source's newest version: the node's own, or a captured one. */
export function labelOfNewestVersion(
  database: ReadDatabase,
  sourceKey: number,
  { isOwn }: { isOwn: boolean },
): PageLabel | null {
  const label = statement<{ page_label: string | null }>(
    database,
    `SELECT page_label FROM events INDEXED BY events_by_source
     WHERE source_key = ? AND event_type IN ('first_seen', 'changed') AND (observer = 'self') = ?
     ORDER BY observed_at DESC, id DESC LIMIT 1`,
  ).get(sourceKey, Number(isOwn))?.page_label;
  return label ? (JSON.parse(label) as PageLabel) : null;
}

/** Returns the events next to one in the timeline, and among those of its source. */
export function neighboursOf(database: ReadDatabase, id: number): EventNeighbours {
  const beside = (index: 'events_by_time' | 'events_by_source', isNewer: boolean) =>
    statement<number>(
      database,
      `SELECT n.id FROM events e JOIN events n INDEXED BY ${index}
       ON ${index === 'events_by_source' ? 'n.source_key = e.source_key AND' : ''}
         (n.observed_at, n.id) ${isNewer ? '>' : '<'} (e.observed_at, e.id)
       WHERE e.id = ? ORDER BY n.observed_at ${isNewer ? '' : 'DESC'}, n.id ${isNewer ? '' : 'DESC'} LIMIT 1`,
    )
      .pluck()
      .get(id) ?? null;
  return {
    newer: beside('events_by_time', true),
    older: beside('events_by_time', false),
    newer_of_source: beside('events_by_source', true),
    older_of_source: beside('events_by_source', false),
  };
}

/** Returns the events after an id, in the order in which they were recorded. */
export function eventsAfter(database: ReadDatabase, id: number, limit: number): Event[] {
  return statement<Stored>(
    database,
    `SELECT ${EVENT_COLUMNS} FROM events e JOIN sources s ON s.key = e.source_key WHERE e.id > ? ORDER BY e.id LIMIT ?`,
  )
    .all(id, limit)
    .map(eventFromStored);
}

/** Returns events by id, in the order of the given ids. */
export function eventsByIds(database: ReadDatabase, ids: readonly number[]): Event[] {
  return statement<Stored>(
    database,
    `SELECT ${EVENT_COLUMNS} FROM json_each(?) j CROSS JOIN events e ON e.id = j.value
     CROSS JOIN sources s ON s.key = e.source_key ORDER BY j.key`,
  )
    .all(JSON.stringify(ids))
    .map(eventFromStored);
}

/** An event with the data that the ledger recorded. */
export interface RecordedEventRow extends Omit<NewEvent, 'source_key'> {
  source: string;
  url: string;
}

const RECORDED_EVENTS = `SELECT e.id, s.id AS source, s.url, e.retrieval, e.event_type, e.observer, e.observed_at,
    e.original_observed_at, e.sha256, e.previous_sha256, e.reverts_to, e.page_label, e.ledger_entry
  FROM events e JOIN sources s ON s.key = e.source_key`;

type StoredRecordedEvent = Omit<RecordedEventRow, 'page_label'> & { page_label: string | null };

/** Iterates over all events with the data that the ledger recorded, in ledger order. */
export function* iterateRecordedEvents(database: ReadDatabase): Generator<RecordedEventRow> {
  const rows = statement<StoredRecordedEvent>(
    database,
    `${RECORDED_EVENTS} ORDER BY e.ledger_entry`,
  ).iterate();
  for (const row of rows) yield recordedFromStored(row);
}

/** Returns an event with the data that the ledger recorded. */
export function recordedEvent(database: ReadDatabase, id: number): RecordedEventRow | undefined {
  const row = statement<StoredRecordedEvent>(database, `${RECORDED_EVENTS} WHERE e.id = ?`).get(id);
  return row && recordedFromStored(row);
}

function recordedFromStored(row: StoredRecordedEvent): RecordedEventRow {
  return { ...row, page_label: row.page_label === null ? null : (JSON.parse(row.page_label) as PageLabel) };
}
