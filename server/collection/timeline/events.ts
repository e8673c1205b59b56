import type { Event, EventDetails, EventObservers, EventsQuery } from '../../../shared/collection/event.ts';
import type { Retrieval } from '../../../shared/collection/retrieval.ts';
import { Problem } from '../../../shared/problems.ts';
import type { Slice } from '../../../shared/values/list.ts';
import { observersOf, otherObserversOf } from '../../store/sqlite/collection/captures.ts';
import { batchOf } from '../../store/sqlite/collection/retrievalBatches.ts';
import { retrievalById } from '../../store/sqlite/collection/retrievals.ts';
import { type EventIdPage, eventColumns } from '../../store/sqlite/collection/timeline/eventColumns.ts';
import {
  type EventFilter,
  eventsByDigests,
  isEveryEvent,
  listEventIds,
  newestEventNumbers,
} from '../../store/sqlite/collection/timeline/eventList.ts';
import {
  eventById,
  eventsAfter,
  eventsByIds,
  lastEventId,
  neighboursOf,
  recordedEvent,
} from '../../store/sqlite/collection/timeline/events.ts';
import { isNoiseCountable, newestByNoise } from '../../store/sqlite/collection/timeline/noiseCounts.ts';
import { readSeenMarks } from '../../store/sqlite/collection/timeline/seenEvents.ts';
import { matchExpression } from '../../store/sqlite/engine/search.ts';
import type { Store } from '../../store/store.ts';

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
  return read
    .transaction(() => {
      const page = newest
        ? newest()
        : listEventIds(read, { ...eventFilterOf(read, query), seen: seenFilter(read, seen) }, query);
      return { items: eventsByIds(read, page.ids), total: page.total };
    })
    .deferred();
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
export function eventFilterOf(
  read: Store['read'],
  query: Omit<EventsQuery, 'limit' | 'offset'>,
): EventFilter {
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

/** Returns an event with the other observers that hold the same object, and the events next to it. @throws Problem `not_found`. */
export function readEventDetails({ read }: Pick<Store, 'read'>, id: string): EventDetails {
  return read
    .transaction(() => {
      const event = readEvent({ read }, id);
      const { sha256, observer, source } = event;
      const corroborated_by =
        sha256 === null ? [] : otherObserversOf(read, { source: source.id, sha256, observer });
      return { ...event, corroborated_by, neighbours: neighboursOf(read, event.id) };
    })
    .deferred();
}

/** Returns who retrieved the version of an event, and when. @throws Problem `not_found` */
export function readEventObservers({ read }: Pick<Store, 'read'>, id: string): EventObservers {
  return read
    .transaction(() => {
      const { sha256, source } = readEvent({ read }, id);
      return { sha256, observers: sha256 === null ? [] : observersOf(read, { source: source.id, sha256 }) };
    })
    .deferred();
}

/** Returns the retrieval that caused an event. @throws Problem `not_found` */
export function readEventRetrieval({ read }: Pick<Store, 'read'>, id: string): Retrieval {
  return read
    .transaction(() => {
      const event = recordedEvent(read, readEvent({ read }, id).id);
      const retrieval = event && retrievalById(read, event.retrieval);
      if (!retrieval) throw new Problem('not_found', `The retrieval of event ${id} is missing.`);
      return { ...retrieval, ledger_entry: batchOf(read, retrieval.id)?.ledger_entry ?? null };
    })
    .deferred();
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
