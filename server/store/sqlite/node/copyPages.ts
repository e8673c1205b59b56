import type { Comment } from '../../../../shared/archive/comment.ts';
import { PART_KEYWORD } from '../../../../shared/archive/set.ts';
import type { Outcome, Tag, Verdict } from '../../../../shared/archive/vocabulary.ts';
import type { Event } from '../../../../shared/collection/event.ts';
import type { Connection } from '../../../../shared/collection/retrieval.ts';
import type { Slice } from '../../../../shared/values/list.ts';
import type { StatusRow, StudyRow } from '../archive/studies.ts';
import { parseConnection } from '../collection/retrievals.ts';
import { eventsByIds } from '../collection/timeline/events.ts';
import type { ReadDatabase } from '../engine/open.ts';
import {
  all,
  columnOf,
  count,
  countRows,
  type Place,
  selectAll,
  selectOne,
  selectPage,
  selectValue,
  selectValues,
} from '../engine/queries.ts';

/*
 * What the pages of a copy show, as it was with a ledger of a certain size. Nothing is read that a later entry recorded,
 * because the copy does not hold it yet.
 */

/** A pack in a list. */
export interface ListedPack {
  id: string;
  ledger_entry: number;
  at: string;
  outcome: Outcome;
  tag: Tag;
  title: string;
  summary: string;
  authors: string;
  keywords: string;
}

const LISTED_PACK = `SELECT p.id, p.ledger_entry, l.at, p.outcome, p.tag, r.record ->> '$.title' AS title,
  substr(r.record ->> '$.summary', 1, 400) AS summary, r.record -> '$.authors' AS authors,
  r.record -> '$.keywords' AS keywords
  FROM packs p JOIN pack_records r USING (ledger_entry) JOIN ledger l ON l.seq = p.ledger_entry`;

export const countPacksOfLedger = countRows<[size: number]>(
  'packs WHERE ledger_entry <= ? AND part_of IS NULL',
);

/** Returns packs in the order of the ledger. */
export function packsOfLedger(
  database: ReadDatabase,
  size: number,
  { offset, limit }: Place,
  order: 'ASC' | 'DESC' = 'ASC',
): ListedPack[] {
  return listedPacks[order](database, entriesOfPacks[order](database, size, limit, offset));
}

type Order = 'ASC' | 'DESC';
/** Declares a query for each order. */
const inOrders = <Query>(declare: (order: Order) => Query): Record<Order, Query> => ({
  ASC: declare('ASC'),
  DESC: declare('DESC'),
});

const entriesOfPacks = inOrders((order) =>
  selectValues<number, [size: number, limit: number, offset: number]>(
    `SELECT ledger_entry FROM packs WHERE ledger_entry <= ? AND part_of IS NULL ORDER BY ledger_entry ${order} LIMIT ? OFFSET ?`,
  ),
);
const listedPacks = inOrders((order) =>
  selectAll<ListedPack, [entries: readonly number[]]>(
    `${LISTED_PACK} WHERE p.ledger_entry IN (SELECT value FROM json_each(?)) ORDER BY p.ledger_entry ${order}`,
  ),
);

export const countPacksOfStudy = countRows<[study: string, size: number]>(
  'packs WHERE study = ? AND ledger_entry <= ?',
);

/** Returns the packs of a study in the order of the ledger. */
export function packsOfStudyUntil(
  database: ReadDatabase,
  { study, size, order = 'ASC' }: { study: string; size: number; order?: 'ASC' | 'DESC' },
  { offset, limit }: Place,
): ListedPack[] {
  return listedOfStudy[order](database, study, size, limit, offset);
}

const listedOfStudy = inOrders((order) =>
  selectAll<ListedPack, [study: string, size: number, limit: number, offset: number]>(
    `${LISTED_PACK} WHERE p.study = ? AND p.ledger_entry <= ? ORDER BY p.ledger_entry ${order} LIMIT ? OFFSET ?`,
  ),
);

export const countStudiesOfLedger = countRows<[size: number]>('studies WHERE ledger_entry <= ?');

/** Returns studies in the order of the ledger, with the status that they had. */
export function studiesOfLedger(
  database: ReadDatabase,
  size: number,
  { offset, limit }: Place,
  order: 'ASC' | 'DESC' = 'ASC',
): StudyRow[] {
  return listedStudies[order](database, { size, limit, offset });
}

const STUDY = `SELECT s.ledger_entry, s.id, s.title, s.question, s.description, s.node, s.created_at,
  (SELECT status FROM study_statuses h WHERE h.study = s.id AND h.ledger_entry <= $size
   ORDER BY h.ledger_entry DESC LIMIT 1) AS status FROM studies s`;

const listedStudies = inOrders((order) =>
  selectAll<StudyRow, [place: Place & { size: number }]>(
    `${STUDY} WHERE s.ledger_entry <= $size ORDER BY s.ledger_entry ${order} LIMIT $limit OFFSET $offset`,
  ),
);

/** Returns the place of a study in the order of the ledger, counted from 0. */
export const placeOfStudy = countRows<[id: string]>(
  'studies WHERE ledger_entry < (SELECT ledger_entry FROM studies WHERE id = ?)',
);

export function studyOfLedger(database: ReadDatabase, id: string, size: number): StudyRow | undefined {
  return studyUntil(database, { id, size });
}
const studyUntil = selectOne<StudyRow, [{ id: string; size: number }]>(
  `${STUDY} WHERE s.id = $id AND s.ledger_entry <= $size`,
);

export const statusesUntil = selectAll<StatusRow, [study: string, size: number]>(`
  SELECT ledger_entry, study, status, note, at FROM study_statuses WHERE study = ? AND ledger_entry <= ?
  ORDER BY ledger_entry`);

/** What other packs, comments and flags say about a pack. */
export interface PackReferences {
  replications: { pack: string; title: string; verdict: Verdict; at: string }[];
  superseded_by: string | null;
  flags: { reason: string; note: string; at: string }[];
}

export function packReferencesUntil(database: ReadDatabase, id: string, size: number): PackReferences {
  return {
    replications: replicationsUntil(database, id, size),
    superseded_by: supersederUntil(database, id, size) ?? null,
    flags: flagsUntil(database, id, size),
  };
}

const replicationsUntil = selectAll<PackReferences['replications'][number], [id: string, size: number]>(`
  SELECT p.id AS pack, r.record ->> '$.title' AS title, p.verdict, l.at
  FROM packs p JOIN pack_records r USING (ledger_entry) JOIN ledger l ON l.seq = p.ledger_entry
  WHERE p.replicates = ? AND p.ledger_entry <= ? ORDER BY p.ledger_entry`);
const supersederUntil = selectValue<string, [id: string, size: number]>(
  'SELECT id FROM packs WHERE supersedes = ? AND ledger_entry <= ? ORDER BY ledger_entry DESC LIMIT 1',
);
const flagsUntil = selectAll<PackReferences['flags'][number], [id: string, size: number]>(
  'SELECT reason, note, at FROM pack_flags WHERE pack = ? AND ledger_entry <= ? ORDER BY ledger_entry',
);

export const packTitle = selectValue<string, [id: string]>(
  `SELECT r.record ->> '$.title' FROM packs p JOIN pack_records r USING (ledger_entry) WHERE p.id = ?`,
);

/** Returns the first comments on an item, oldest first, and their number. */
export function commentsUntil(
  database: ReadDatabase,
  { item, size, limit }: { item: string; size: number; limit: number },
): Slice<Comment> {
  return commentsPage(database, { limit, offset: 0 }, item, size);
}
const commentsPage = selectPage<Comment, [item: string, size: number]>({
  columns: 'id, item, author, body, reply_to, at, ledger_entry',
  from: 'comments WHERE item = ? AND ledger_entry <= ?',
  order: 'ledger_entry',
});

/** Returns the pages that an added pack changes besides its own. */
export const changedByPack = selectOne<
  { study: string | null; replicates: string | null; supersedes: string | null },
  [id: string]
>('SELECT study, replicates, supersedes FROM packs WHERE id = ?');

/** A pack that was listed until a manifest made it a part of a set, and the study that it was in. */
interface TakenPack {
  ledger_entry: number;
  study: string | null;
}

/** Returns the packs that the manifest of an entry took out of the lists. */
export const packsTakenBy = selectAll<TakenPack, [manifest: number]>(`
  SELECT p.ledger_entry, r.record ->> '$.study' AS study
  FROM set_parts s JOIN packs p ON p.id = s.part JOIN pack_records r ON r.ledger_entry = p.ledger_entry
  WHERE s.manifest = ? AND p.part_of IS NOT NULL AND r.record -> '$.keywords' <> '["${PART_KEYWORD}"]'`);

/** Returns the place of a pack in the list of packs, counted from 0. */
export const placeOfPack = countRows<[entry: number]>('packs WHERE ledger_entry < ? AND part_of IS NULL');

/** Returns the ids of the packs with a file, and of the sets with such a pack. */
export const packsNaming = selectValues<string, [values: { sha256: string; size: number }]>(`
  SELECT p.id FROM pack_files f JOIN packs p ON p.ledger_entry = f.pack
  WHERE f.sha256 = $sha256 AND p.ledger_entry <= $size
  UNION SELECT m.id FROM pack_files f JOIN packs p ON p.ledger_entry = f.pack
    JOIN set_parts s ON s.part = p.id JOIN packs m ON m.ledger_entry = s.manifest
  WHERE f.sha256 = $sha256 AND m.ledger_entry <= $size`);

/** A part of the timeline: of one source or of all, between two instants (the second excluded), up to an event. */
export interface EventRange {
  source_key?: number | undefined;
  since?: string | undefined;
  before?: string | undefined;
  /** The last event that belongs to it. */
  last: number;
}

/** Returns the last event that a ledger of this size records; 0 if there is none. */
export const lastEventOfLedger = selectValue<number, [size: number]>(
  'SELECT id FROM events WHERE ledger_entry <= ? ORDER BY ledger_entry DESC LIMIT 1',
  0,
);

function fromRange({ source_key, since = '', before = '~', last }: EventRange): {
  from: string;
  values: Record<string, unknown>;
} {
  const index = source_key === undefined ? 'events_by_time' : 'events_by_source';
  const source = source_key === undefined ? '' : 'source_key = $source_key AND ';
  return {
    from: `events INDEXED BY ${index}
      WHERE ${source}observed_at >= $since AND observed_at < $before AND id <= $last`,
    values: { ...(source_key !== undefined && { source_key }), since, before, last },
  };
}

export function countEventsOf(database: ReadDatabase, range: EventRange): number {
  const { from, values } = fromRange(range);
  return count(database, from, values);
}

/** Returns the days of a range that have events, oldest first, each with its number of events. */
export function countEventsByDay(
  database: ReadDatabase,
  range: EventRange,
): { day: string; events: number }[] {
  const { from, values } = fromRange(range);
  const grouped = `SELECT substr(observed_at, 1, 10) AS day, count(*) AS events FROM ${from} GROUP BY day ORDER BY day`;
  return all(database, grouped, values);
}

/** Returns events of a range in the order of their instants, oldest first or newest first. */
export function eventsOf(
  database: ReadDatabase,
  range: EventRange,
  { offset = 0, limit, newest = false }: { offset?: number; limit: number; newest?: boolean },
): Event[] {
  const { from, values } = fromRange(range);
  const direction = newest ? 'DESC' : 'ASC';
  const ids = columnOf<number>(
    database,
    `SELECT id FROM ${from} ORDER BY observed_at ${direction}, id ${direction} LIMIT $limit OFFSET $offset`,
    { ...values, limit, offset },
  );
  return eventsByIds(database, ids);
}

/** What a list needs to know of a new event. */
interface NewEventRow {
  id: number;
  source_key: number;
  observed_at: string;
}

/** Returns the events after an id up to another, in order. */
export const newEvents = selectAll<NewEventRow, [values: { after: number; last: number; limit: number }]>(
  'SELECT id, source_key, observed_at FROM events WHERE id > $after AND id <= $last ORDER BY id LIMIT $limit',
);

/** Returns the events of a source after an id, in order. */
export const eventIdsOfSource = selectValues<
  number,
  [values: { source: number; after: number; last: number; limit: number }]
>(
  'SELECT id FROM events WHERE source_key = $source AND id > $after AND id <= $last ORDER BY id LIMIT $limit',
);

/** Returns the events that name an object, or whose page has it. */
export function eventsNaming(database: ReadDatabase, sha256: string, last: number): number[] {
  return eventsWith(database, { sha256, last });
}
const eventsWith = selectValues<number, [{ sha256: string; last: number }]>(`
  SELECT id FROM events WHERE sha256 = $sha256 AND id <= $last
  UNION SELECT id FROM events WHERE previous_sha256 = $sha256 AND id <= $last
  UNION SELECT e.id FROM retrievals r JOIN events e INDEXED BY events_by_source
    ON e.source_key = r.source_key AND e.page = r.part_of
    WHERE r.sha256 = $sha256 AND r.part_of IS NOT NULL AND e.id <= $last`);

/** How an event's object was retrieved. */
interface EventRetrieval {
  retrieval: number;
  final_url: string;
  status: number | null;
  error: string | null;
  content_type: string | null;
  bytes: number | null;
  connection: Connection | null;
}

export const retrievalOfEvent = selectOne<
  Omit<EventRetrieval, 'connection'> & { connection: string | null },
  [id: number],
  EventRetrieval
>(
  `SELECT e.retrieval, r.final_url, r.status, r.error, r.content_type, r.bytes, r.connection
     FROM events e JOIN retrievals r ON r.id = e.retrieval WHERE e.id = ?`,
  (row) => ({ ...row, connection: parseConnection(row.connection) }),
);

/** Returns the event of the same source and observer before one. */
export const eventBefore = selectValue<number, [values: Event]>(`
  SELECT p.id FROM events e JOIN events p INDEXED BY events_by_source
  ON p.source_key = e.source_key AND (p.observed_at, p.id) < ($observed_at, $id)
  WHERE e.id = $id AND p.id < $id ORDER BY p.observed_at DESC, p.id DESC LIMIT 1`);

/** Returns the first and the last instant of the events up to an id. */
export function eventExtent(
  database: ReadDatabase,
  last: number,
): { first: string; last: string } | undefined {
  const first = edges.ASC(database, last);
  const end = edges.DESC(database, last);
  return first === undefined || end === undefined ? undefined : { first, last: end };
}

const edges = inOrders((order) =>
  selectValue<string, [last: number]>(
    `SELECT observed_at FROM events INDEXED BY events_by_time WHERE id <= ? ORDER BY observed_at ${order}, id LIMIT 1`,
  ),
);

/** What the ledger records of a source. It has the names of the owner's headers, and never their values. */
export interface RecordedSourceRow {
  key: number;
  ledger_entry: number;
  id: string;
  url: string;
  name: string;
  agency: string;
  tags: string[];
  every_minutes: number | null;
  added_at: string;
  removed: boolean;
  paused: boolean;
}

interface Revision {
  source_key: number;
  ledger_entry: number;
  record: string;
}

/** Returns a source as a ledger of this size records it; undefined if it does not. */
export const sourceOfLedger = selectOne<Revision, [key: number, size: number], RecordedSourceRow>(
  `SELECT source_key, ledger_entry, record FROM source_revisions
     WHERE source_key = ? AND ledger_entry <= ? ORDER BY ledger_entry DESC LIMIT 1`,
  asSource,
);

/** Returns the number of sources that a ledger of this size records. Their keys are 1 to this number. */
export const countSourcesOfLedger = selectValue<number, [size: number]>(
  'SELECT max(source_key) AS count FROM source_revisions WHERE ledger_entry <= ?',
  0,
);

/** Returns sources in the order in which they were added. */
export function sourcesOfLedger(
  database: ReadDatabase,
  size: number,
  { offset, limit }: { offset: number; limit: number },
  order: 'ASC' | 'DESC' = 'ASC',
): RecordedSourceRow[] {
  const total = order === 'DESC' ? countSourcesOfLedger(database, size) : 0;
  const [first, last] =
    order === 'ASC' ? [offset + 1, offset + limit] : [total - offset - limit + 1, total - offset];
  return sourcesBetween[order](database, first, last, size);
}

const sourcesBetween = inOrders((order) =>
  selectAll<Revision, [first: number, last: number, size: number], RecordedSourceRow>(
    `SELECT r.source_key, max(r.ledger_entry) AS ledger_entry, r.record FROM source_revisions r
     WHERE r.source_key BETWEEN ? AND ? AND r.ledger_entry <= ? GROUP BY r.source_key
     ORDER BY r.source_key ${order}`,
    asSource,
  ),
);

function asSource({ source_key, ledger_entry, record }: Revision): RecordedSourceRow {
  const source = JSON.parse(record) as Omit<RecordedSourceRow, 'key' | 'ledger_entry'>;
  const { id, url, name, agency, tags, every_minutes, added_at, removed, paused } = source;
  return {
    key: source_key,
    ledger_entry,
    id,
    url,
    name,
    agency,
    tags,
    every_minutes,
    added_at,
    removed,
    paused,
  };
}
