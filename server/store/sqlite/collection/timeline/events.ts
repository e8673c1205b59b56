import type { Event, EventNeighbours, EventType, PageLabel } from '../../../../../shared/collection/event.ts';
import type { ReadDatabase, WriteDatabase } from '../../engine/open.ts';
import {
  change,
  hasRow,
  inserts,
  selectAll,
  selectEach,
  selectOne,
  selectValue,
  selectValues,
} from '../../engine/queries.ts';
import { releasedAmong } from '../../node/withheld.ts';
import { parsePageLabel } from '../retrievals.ts';
import { IS_NOISE_COLUMN, OUTSIDE_COLUMN } from './eventNoise.ts';

/** The SQL column with the summary of an event under the current rules of its source (`events e`, `sources s`). */
const SUMMARY_COLUMN = `(SELECT m.summary FROM event_summaries m
  WHERE m.event = e.id AND m.rules_digest IS s.rules_digest) AS summary`;

/** A summary, and the digest of the noise rules that it was made with. */
export interface EventSummary {
  event: number;
  summary: string | null;
  rules_digest: string | null;
}

/** Stores a summary, replacing an earlier one. There is none of bytes that were given up meanwhile. */
export function putEventSummary(
  database: WriteDatabase,
  { event, summary, rules_digest }: EventSummary,
  objects: readonly string[],
): void {
  const kept = releasedAmong(database, objects).length > 0 ? null : summary;
  putSummary(database, { event, summary: kept, rules_digest });
}
const putSummary = change<[summary: EventSummary]>(`
  INSERT OR REPLACE INTO event_summaries (event, summary, rules_digest)
  VALUES ($event, $summary, $rules_digest)`);

/** Whether an event was summarized with these rules, also if nothing was found to say. */
export const isSummarized = hasRow<[values: { id: number; rules_digest: string | null }]>(
  'SELECT 1 FROM event_summaries WHERE event = $id AND rules_digest IS $rules_digest',
);

/** Returns the ids of up to `limit` changes after an event, in the order in which they were recorded. */
export const changesAfter = selectValues<number, [after: number, limit: number]>(`
  SELECT id FROM events NOT INDEXED WHERE id > ? AND event_type = 'changed' AND sha256 IS NOT NULL
  AND previous_sha256 IS NOT NULL ORDER BY id LIMIT ?`);

/** Returns the id of the last event that was summarized when it was recorded. */
export const lastSummarizedEvent = selectValue<number>(
  "SELECT value FROM counters WHERE name = 'events_summarized'",
  0,
);

export const setLastSummarizedEvent = change<[id: number]>(
  "UPDATE counters SET value = ? WHERE name = 'events_summarized'",
);

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
  /** The page capture of an event by the browser, if so. */
  page?: string | null;
  ledger_entry: number;
}

/** Returns the id of the next event. Valid only inside the transaction that records it. */
export function nextEventId(database: WriteDatabase): number {
  return lastEventId(database) + 1;
}

/** Returns the id of the last event, which is also the number of events. */
export const lastEventId = selectValue<number>('SELECT coalesce(max(id), 0) AS id FROM events', 0);

export function insertEvent(database: WriteDatabase, event: NewEvent): void {
  const page_label = event.page_label && JSON.stringify(event.page_label);
  insertRow(database, { ...event, page_label, page: event.page ?? null });
}

const insertRow = inserts<
  Omit<NewEvent, 'page_label' | 'page'> & { page_label: string | null; page: string | null }
>(
  'events',
  `id, source_key, retrieval, event_type, observer, observed_at, original_observed_at, sha256, previous_sha256,
   reverts_to, page_label, page, ledger_entry`,
);

/** Returns the id of the first event with an object as a version of a source, by an observer. */
export const firstEventWith = selectValue<
  number,
  [version: { source_key: number; observer: string; sha256: string }]
>(`
  SELECT min(id) AS id FROM events WHERE sha256 = $sha256 AND source_key = $source_key AND observer = $observer
  AND event_type IN ('first_seen', 'changed')`);

type Stored = Omit<Event, 'source' | 'page_label' | 'is_noise' | 'outside'> & {
  is_noise: number | null;
  outside: number;
  source_id: string;
  url: string;
  name: string;
  agency: string;
  tags: string;
  page_label: string | null;
};

interface LastEvent {
  type: EventType;
  at: string;
}

/** The columns of an event, from `events e` joined with its source `s`. */
const EVENT_COLUMNS = `e.id, s.id AS source_id, s.url, s.name, s.agency, s.tags, e.event_type, e.observer,
  e.observed_at, e.original_observed_at, e.sha256, e.previous_sha256, e.reverts_to, e.page_label, e.page,
  e.ledger_entry, ${IS_NOISE_COLUMN}, ${OUTSIDE_COLUMN}, ${SUMMARY_COLUMN}`;

function eventFromStored(row: Stored): Event {
  const { source_id, url, name, agency, tags, page_label, is_noise, outside, ...event } = row;
  return {
    ...event,
    source: { id: source_id, url, name, agency, tags: JSON.parse(tags) as string[] },
    page_label: parsePageLabel(page_label),
    is_noise: is_noise === null ? null : is_noise === 1,
    outside: outside === 1,
  };
}

export const eventById = selectOne<Stored, [id: number], Event>(
  `SELECT ${EVENT_COLUMNS} FROM events e JOIN sources s ON s.key = e.source_key WHERE e.id = ?`,
  eventFromStored,
);

/** Returns the node's own newest event of a source. Captures by others say nothing about its state. */
export const lastOwnEvent = selectOne<LastEvent, [sourceKey: number]>(`
  SELECT event_type AS type, observed_at AS at FROM events INDEXED BY events_by_source
  WHERE source_key = ? AND observer IN ('self', 'browser') ORDER BY observed_at DESC, id DESC LIMIT 1`);

/** Returns the newest captured event of a source, or undefined if others captured no version of it. */
export const lastCapturedEvent = selectOne<LastEvent, [sourceKey: number]>(`
  SELECT event_type AS type, observed_at AS at FROM events INDEXED BY events_by_source
  WHERE source_key = ? AND observer <> 'self' ORDER BY observed_at DESC, id DESC LIMIT 1`);

/** Returns the label of a source's newest version: the node's own, or a captured one. */
export function labelOfNewestVersion(
  database: ReadDatabase,
  sourceKey: number,
  { isOwn }: { isOwn: boolean },
): PageLabel | null {
  return parsePageLabel(newestLabel(database, sourceKey, Number(isOwn)) ?? null);
}

const newestLabel = selectValue<string, [sourceKey: number, isOwn: number]>(`
  SELECT page_label FROM events INDEXED BY events_by_source
  WHERE source_key = ? AND event_type IN ('first_seen', 'changed') AND (observer = 'self') = ?
  ORDER BY observed_at DESC, id DESC LIMIT 1`);

/** Returns the events next to one in the timeline, and among those of its source. */
export function neighboursOf(database: ReadDatabase, id: number): EventNeighbours {
  return {
    newer: newer(database, id) ?? null,
    older: older(database, id) ?? null,
    newer_of_source: newerOfSource(database, id) ?? null,
    older_of_source: olderOfSource(database, id) ?? null,
  };
}

const beside = (index: 'events_by_time' | 'events_by_source', isNewer: boolean) =>
  selectValue<number, [id: number]>(
    `SELECT n.id FROM events e JOIN events n INDEXED BY ${index}
     ON ${index === 'events_by_source' ? 'n.source_key = e.source_key AND' : ''}
       (n.observed_at, n.id) ${isNewer ? '>' : '<'} (e.observed_at, e.id)
     WHERE e.id = ? ORDER BY n.observed_at ${isNewer ? '' : 'DESC'}, n.id ${isNewer ? '' : 'DESC'} LIMIT 1`,
  );
const newer = beside('events_by_time', true);
const older = beside('events_by_time', false);
const newerOfSource = beside('events_by_source', true);
const olderOfSource = beside('events_by_source', false);

/** Returns the events after an id, in the order in which they were recorded. */
export const eventsAfter = selectAll<Stored, [id: number, limit: number], Event>(
  `SELECT ${EVENT_COLUMNS} FROM events e JOIN sources s ON s.key = e.source_key WHERE e.id > ? ORDER BY e.id LIMIT ?`,
  eventFromStored,
);

/** Returns the changes of the same source, by the same observer, after an event. */
export const changesOfSourceAfter = selectAll<
  Stored,
  [event: Pick<Event, 'id' | 'observer'> & { source: string; until: number }],
  Event
>(
  `SELECT ${EVENT_COLUMNS} FROM sources s CROSS JOIN events e ON e.source_key = s.key WHERE s.id = $source
   AND e.id > $id AND e.id <= $until AND e.event_type = 'changed' AND e.observer = $observer ORDER BY e.id`,
  eventFromStored,
);

/** Returns events by id, in the order of the given ids. */
export const eventsByIds = selectAll<Stored, [ids: readonly number[]], Event>(
  `SELECT ${EVENT_COLUMNS} FROM json_each(?) j CROSS JOIN events e ON e.id = j.value
     CROSS JOIN sources s ON s.key = e.source_key ORDER BY j.key`,
  eventFromStored,
);

/** An event with the data that the ledger recorded. */
export interface RecordedEventRow extends Omit<NewEvent, 'source_key'> {
  source: string;
  url: string;
}

const RECORDED_EVENTS = `SELECT e.id, s.id AS source, s.url, e.retrieval, e.event_type, e.observer, e.observed_at,
    e.original_observed_at, e.sha256, e.previous_sha256, e.reverts_to, e.page_label, e.page, e.ledger_entry
  FROM events e JOIN sources s ON s.key = e.source_key`;

type StoredRecordedEvent = Omit<RecordedEventRow, 'page_label' | 'page'> & {
  page_label: string | null;
  page: string | null;
};

/** Iterates over all events with the data that the ledger recorded, in ledger order. */
export function* iterateRecordedEvents(database: ReadDatabase): Generator<RecordedEventRow> {
  for (const row of storedEvents(database)) yield recordedFromStored(row);
}

const storedEvents = selectEach<StoredRecordedEvent>(`${RECORDED_EVENTS} ORDER BY e.ledger_entry`);

/** Returns an event with the data that the ledger recorded. */
export const recordedEvent = selectOne<StoredRecordedEvent, [id: number], RecordedEventRow>(
  `${RECORDED_EVENTS} WHERE e.id = ?`,
  recordedFromStored,
);

/** An event without a page has no such member, as all events of earlier versions. */
function recordedFromStored({ page, ...row }: StoredRecordedEvent): RecordedEventRow {
  return { ...row, page_label: parsePageLabel(row.page_label), ...(page === null ? {} : { page }) };
}
