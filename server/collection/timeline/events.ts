import {
  type Event,
  type EventDensity,
  type EventDensityQuery,
  type EventDetails,
  type EventObservers,
  type EventQuality,
  type EventsQuery,
  LABEL_SCORE,
} from '../../../shared/collection/event.ts';
import type { Retrieval } from '../../../shared/collection/retrieval.ts';
import { Problem } from '../../../shared/problems.ts';
import type { Slice } from '../../../shared/values/list.ts';
import { type CsvCell, csvLines } from '../../csv.ts';
import { seenByOf } from '../../ledger/peerEvidence.ts';
import { startOfBlob } from '../../store/blobs/offloadedBlobs.ts';
import { databaseFile } from '../../store/files.ts';
import { observersOf, otherObserversOf } from '../../store/sqlite/collection/captures.ts';
import { batchOf } from '../../store/sqlite/collection/retrievalBatches.ts';
import { retrievalById } from '../../store/sqlite/collection/retrievals.ts';
import {
  EVERY_EVENT,
  type EventColumns,
  type EventIdPage,
  eventColumns,
  readSeenMarks,
} from '../../store/sqlite/collection/timeline/eventColumns.ts';
import {
  type EventFilter,
  eventsByDigests,
  isEveryEvent,
  isNoiseCountable,
  listEventIds,
  newestByNoise,
  newestEventNumbers,
  scanTimeline,
  type TimelinePosition,
} from '../../store/sqlite/collection/timeline/eventList.ts';
import { quotedDigests } from '../../store/sqlite/collection/timeline/eventNoise.ts';
import {
  eventById,
  eventsAfter,
  eventsByIds,
  lastEventId,
  neighboursOf,
  recordedEvent,
} from '../../store/sqlite/collection/timeline/events.ts';
import { onSnapshot } from '../../store/sqlite/engine/queries.ts';
import { matchExpression } from '../../store/sqlite/engine/search.ts';
import { openSnapshot } from '../../store/sqlite/engine/writeAheadLog.ts';
import type { Store } from '../../store/store.ts';
import {
  madeOfReadable,
  marksOf,
  type Reader,
  requireReadable,
  unreadableAmong,
} from '../../withholding/withholding.ts';
import { findingsOf, labelOf } from '../record/quality/judgePage.ts';
import { PAGE_BEGINNING_BYTES } from '../record/quality/pageHtml.ts';

/**
 * Returns one page of the timeline, newest first by `observed_at`, then by number.
 *
 * @param seen only the events that the owner has seen (true) or has not (false); all if absent.
 */
export async function listEvents(
  { read }: Pick<Store, 'read'>,
  query: EventsQuery,
  seen?: boolean,
): Promise<Slice<Event>> {
  const newest = seen === undefined && query.offset === 0 ? newestPage(read, query) : undefined;
  if (!newest) await loadTimeline({ read });
  return onSnapshot(read, () => {
    const page = newest
      ? newest()
      : listEventIds(read, { ...eventFilterOf(read, query), seen: seenFilter(read, seen) }, query);
    return { items: eventsByIds(read, page.ids), total: page.total };
  });
}

/** Returns how to read the first page of a list without the columns; undefined if that is not possible. */
function newestPage(read: Store['read'], query: EventsQuery): (() => EventIdPage) | undefined {
  const filter = filterOf(query);
  if (isEveryEvent(filter)) return () => newestEventNumbers(read, query.limit);
  const { noise } = filter;
  if (noise === null || !isEveryEvent({ ...filter, noise: null })) return undefined;
  if (eventColumns(read).isReady || !isNoiseCountable(read)) return undefined;
  return () => newestByNoise(read, noise, query.limit);
}

/** Loads the columns that event lists filter by, so that the first request does not wait for them. */
export function loadTimeline({ read }: Pick<Store, 'read'>): Promise<void> {
  return eventColumns(read).load();
}

function seenFilter(read: Store['read'], seen: boolean | undefined): EventFilter['seen'] {
  return seen === undefined ? null : { marks: readSeenMarks(read), seen };
}

/** Converts a query into a filter, including the events whose digests match the search text. */
function eventFilterOf(read: Store['read'], query: Omit<EventsQuery, 'limit' | 'offset'>): EventFilter {
  const filter = filterOf(query);
  return { ...filter, ids: query.q ? idsByDigest(read, query.q, filter) : [] };
}

function filterOf(query: Omit<EventsQuery, 'limit' | 'offset'>): Omit<EventFilter, 'ids'> {
  return {
    match: (query.q && matchExpression(query.q)) || null,
    agency: query.agency ?? null,
    tag: query.tag ?? null,
    source: query.source ?? null,
    event_type: query.event_type ?? null,
    observer: query.observer ?? null,
    since: query.since === undefined ? null : firstInstantOf(query.since),
    until: query.until === undefined ? null : lastInstantOf(query.until),
    noise: query.noise ?? null,
    label: query.label ?? null,
    seen: null,
  };
}

/** @throws Problem `not_found`. */
export function readEvent({ read }: Pick<Store, 'read'>, id: string): Event {
  const event = /^[1-9]\d{0,14}$/.test(id) ? eventById(read, Number(id)) : undefined;
  if (!event) throw new Problem('not_found', 'There is no such event.');
  return event;
}

/**
 * Returns an event with the other observers that hold the same object, the events next to it, and who may read its
 * versions.
 *
 * @throws Problem `not_found`.
 */
export function readEventDetails({ read }: Pick<Store, 'read'>, id: string): EventDetails {
  return onSnapshot(read, () => {
    const event = readEvent({ read }, id);
    const { sha256, observer, source } = event;
    const corroborated_by =
      sha256 === null ? [] : otherObserversOf(read, { source: source.id, sha256, observer });
    const previous = marksOf(read, event.previous_sha256);
    return {
      ...event,
      corroborated_by,
      neighbours: neighboursOf(read, event.id),
      seen_by: seenByOf(read, event.id),
      ...marksOf(read, sha256),
      ...(previous.withheld && { previous_withheld: previous.withheld }),
      ...(previous.released && { previous_released: previous.released }),
    };
  });
}

/** Returns events without the summaries that were made of bytes which a reader may not read. */
export function withReadableSummaries(
  read: Store['read'],
  events: readonly Event[],
  reader: Reader,
): Event[] {
  const summarized = events.filter(({ summary }) => summary !== null && summary !== undefined);
  const quoted = new Map(summarized.map((event) => [event, quotedDigests(read, event)]));
  const hidden = unreadableAmong(read, [...quoted.values()].flat(), reader);
  if (hidden.size === 0) return [...events];
  return events.map((event) =>
    quoted.get(event)?.some((digest) => hidden.has(digest)) ? { ...event, summary: null } : event,
  );
}

/** Returns who retrieved the version of an event, and when. @throws Problem `not_found` */
export function readEventObservers({ read }: Pick<Store, 'read'>, id: string): EventObservers {
  return onSnapshot(read, () => {
    const { sha256, source } = readEvent({ read }, id);
    return { sha256, observers: sha256 === null ? [] : observersOf(read, { source: source.id, sha256 }) };
  });
}

/** Returns the retrieval that caused an event. @throws Problem `not_found` */
export function readEventRetrieval({ read }: Pick<Store, 'read'>, id: string): Retrieval {
  return onSnapshot(read, () => {
    const event = recordedEvent(read, readEvent({ read }, id).id);
    const retrieval = event && retrievalById(read, event.retrieval);
    if (!retrieval) throw new Problem('not_found', `The retrieval of event ${id} is missing.`);
    return { ...retrieval, ledger_entry: batchOf(read, retrieval.id)?.ledger_entry ?? null };
  });
}

/** Returns up to `limit` events after a number, in the order they were recorded. */
export function readEventsAfter({ read }: Pick<Store, 'read'>, id: number, limit: number): Event[] {
  return eventsAfter(read, id, limit);
}

export function readLastEventId({ read }: Pick<Store, 'read'>): number {
  return lastEventId(read);
}

/** Returns the first instant of a date, or the instant itself. For the start of a range. */
export function firstInstantOf(value: string): string {
  return new Date(value).toISOString();
}

/** Returns the last instant of a date, or the instant itself. For the end of a range. */
export function lastInstantOf(value: string): string {
  return isDate(value) ? `${value}T23:59:59.999Z` : new Date(value).toISOString();
}

function isDate(value: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(value);
}

/** A word with at least this many hex digits may be the beginning of a digest. */
const MIN_DIGEST_DIGITS = 4;
/** An event has two digests, so further words are not tried as digests. */
const MAX_DIGEST_WORDS = 2;

/**
 * Finds events by digest: some words of the search text are the beginning of an event's digests, and all others match its
 * source. Events that match by their source alone are not included.
 */
function idsByDigest(read: Store['read'], q: string, filter: Omit<EventFilter, 'ids'>): number[] {
  const phrases = q.match(/"[^"]*"/g) ?? [];
  const words = q
    .replace(/"[^"]*"/g, ' ')
    .split(/[\s"]+/)
    .filter(Boolean);
  const digests = words
    .filter((word) => /^[0-9a-f]+$/i.test(word) && word.length >= MIN_DIGEST_DIGITS && word.length <= 64)
    .slice(0, MAX_DIGEST_WORDS);
  const found = new Set<number>();
  for (const subset of subsetsOf(digests)) {
    const rest = [...phrases, ...words.filter((word) => !subset.includes(word))].join(' ');
    const match = matchExpression(rest) ?? null;
    const prefixes = subset.map((word) => word.toLowerCase());
    for (const id of eventsByDigests(read, prefixes, { ...filter, match })) found.add(id);
  }
  return [...found];
}

/** Returns every non-empty subset. */
function subsetsOf(words: readonly string[]): string[][] {
  return words
    .reduce<string[][]>((subsets, word) => [...subsets, ...subsets.map((subset) => [...subset, word])], [[]])
    .filter((subset) => subset.length > 0);
}

/**
 * Counts the events observed in each of `buckets` buckets of equal length. Each bucket boundary takes a binary search;
 * with `noise`, every event between them is read too.
 */
export async function readEventDensity(
  { read }: Pick<Store, 'read'>,
  query: EventDensityQuery,
): Promise<EventDensity> {
  await loadTimeline({ read });
  return onSnapshot(read, () => {
    const columns = eventColumns(read);
    columns.catchUp();
    const extent = columns.extent();
    const since = query.since === undefined ? (extent?.first ?? null) : firstInstantOf(query.since);
    const until = query.until === undefined ? (extent?.last ?? null) : lastInstantOf(query.until);
    if (since === null || until === null) return { since, until, total: 0, counts: [] };
    const counts = countsBetween(columns, edgesBetween(since, until, query.buckets), until, query.noise);
    return { since, until, total: counts.reduce((sum, count) => sum + count, 0), counts };
  });
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

/**
 * Returns how the version of an event was judged, and what each rule finds in it now. It is computed from the archived
 * bytes and headers and is not stored: the event keeps the label that it was recorded with.
 *
 * @throws Problem `not_found`, `withheld`, `released`, `blob_damaged`, `copy_unreachable`
 */
export async function readEventQuality(
  store: Pick<Store, 'read' | 'blobs'>,
  id: string,
  reader: Reader,
): Promise<EventQuality> {
  const event = readEvent(store, id);
  const retrieval = retrievalById(store.read, recordedEvent(store.read, event.id)?.retrieval ?? 0);
  const sha256 = retrieval?.sha256 ?? null;
  const findings = await madeOfReadable(
    () => sha256 !== null && requireReadable(store.read, sha256, reader),
    async () => (retrieval ? findingsOf({ ...retrieval, beginning: await beginningOf(store, sha256) }) : []),
  );
  return { recorded: event.page_label, found: labelOf(findings), threshold: LABEL_SCORE, findings };
}

async function beginningOf({ blobs }: Pick<Store, 'blobs'>, sha256: string | null): Promise<Buffer> {
  if (sha256 === null) return Buffer.alloc(0);
  const bytes = await startOfBlob(blobs, sha256, PAGE_BEGINNING_BYTES);
  if (bytes) return Buffer.from(bytes);
  throw new Problem('blob_damaged', 'The stored bytes of this version cannot be read.');
}

/** Events examined at a time, matching or not. The node handles other requests in between. */
const STRETCH = 1_000;

const COLUMNS: Readonly<Record<string, (event: Event) => CsvCell>> = {
  id: ({ id }) => id,
  source: ({ source }) => source.id,
  url: ({ source }) => source.url,
  name: ({ source }) => source.name,
  agency: ({ source }) => source.agency,
  tags: ({ source }) => source.tags.join('; '),
  event_type: ({ event_type }) => event_type,
  observer: ({ observer }) => observer,
  observed_at: ({ observed_at }) => observed_at,
  original_observed_at: (event) => event.original_observed_at,
  sha256: ({ sha256 }) => sha256,
  previous_sha256: (event) => event.previous_sha256,
  reverts_to: (event) => event.reverts_to,
  page_label: ({ page_label, outside }) => page_label?.label ?? (outside ? 'outside' : null),
  page: ({ page }) => page,
  is_noise: ({ is_noise }) => is_noise,
  summary: ({ summary }) => summary ?? null,
  ledger_entry: (event) => event.ledger_entry,
};

/**
 * Yields every event that matches the filters, newest first, as CSV with a header. Reads one snapshot on its own
 * connection, which closes when the iteration ends. Memory use is constant, because pieces are made on demand.
 */
export async function* eventsCsv(
  { folder, read }: Pick<Store, 'folder' | 'read'>,
  query: Omit<EventsQuery, 'limit' | 'offset'>,
  reader: Reader,
): AsyncGenerator<string> {
  const database = await openSnapshot(databaseFile(folder));
  try {
    const filter = eventFilterOf(database, query);
    yield csvLines([Object.keys(COLUMNS)]);
    let place: TimelinePosition | null | undefined;
    while (place !== null) {
      const stretch = scanTimeline(database, filter, place, STRETCH);
      // What is withheld meanwhile is left out, too, so the snapshot is not asked.
      const events = withReadableSummaries(read, eventsByIds(database, stretch.ids), reader);
      const rows = events.map((event) => Object.values(COLUMNS).map((cellOf) => cellOf(event)));
      if (rows.length > 0) yield csvLines(rows);
      place = stretch.end;
    }
  } finally {
    database.close();
  }
}
