import type { EventType } from '../../../../shared/collection/event.ts';
import type { ReadDatabase } from '../engine/open.ts';
import { selectEach, selectOne, selectValue, selectValues } from '../engine/queries.ts';
import { IS_NOISE_COLUMN } from './timeline/eventNoise.ts';

/** A retrieval that brought an object. */
export interface ViewedRetrieval {
  id: number;
  part_of: string | null;
  source_key: number;
  source_id: string;
  url: string;
  name: string;
  final_url: string;
  observer: string;
  observed_at: string;
  original_observed_at: string | null;
  /** The time of the capture. */
  moment: string;
  status: number | null;
  /** Null for an observation. */
  error: string | null;
  content_type: string | null;
  headers: [string, string][];
}

/** A version of a source: an object, and a time at which the source had it. */
interface VersionRow {
  sha256: string;
  at: string;
}

type Stored = Omit<ViewedRetrieval, 'headers'> & { headers: string };

/** The same expression as in the index `observations_by_moment`. */
const MOMENT = 'coalesce(original_observed_at, observed_at)';
const SELECT = `SELECT r.id, r.part_of, r.source_key, s.id AS source_id, s.url, s.name, r.final_url, r.observer, r.observed_at,
    r.original_observed_at, coalesce(r.original_observed_at, r.observed_at) AS moment, r.status, r.error,
    r.content_type, r.headers
  FROM retrievals r JOIN sources s ON s.key = r.source_key`;
/** Unchanged observations that are passed to find another version. */
const MAX_UNCHANGED = 20_000;

function fromStored(row: Stored): ViewedRetrieval {
  return { ...row, headers: JSON.parse(row.headers) as [string, string][] };
}

/** Returns the observation of an object at a moment, by the key of its source. */
export const retrievalAt = selectOne<
  Stored,
  [observation: { sourceKey: number; sha256: string; moment: string }],
  ViewedRetrieval
>(
  `${SELECT} WHERE r.id = (SELECT id FROM retrievals INDEXED BY observations_by_moment
     WHERE source_key = $sourceKey AND sha256 IS NOT NULL AND error IS NULL AND part_of IS NULL AND ${MOMENT} = $moment
       AND sha256 = $sha256 LIMIT 1)`,
  fromStored,
);

/** Returns the retrieval that first brought an object, from any source or as a version of one source. */
export function firstRetrieval(
  database: ReadDatabase,
  sha256: string,
  sourceKey?: number,
): ViewedRetrieval | undefined {
  return sourceKey === undefined
    ? firstOfObject(database, sha256)
    : firstOfVersion(database, sha256, sourceKey);
}

const firstOfObject = selectOne<Stored, [sha256: string], ViewedRetrieval>(
  `${SELECT} WHERE r.sha256 = ? ORDER BY r.id LIMIT 1`,
  fromStored,
);
const firstOfVersion = selectOne<Stored, [sha256: string, sourceKey: number], ViewedRetrieval>(
  `${SELECT} WHERE r.id = (SELECT min(retrieval) FROM events WHERE sha256 = ? AND source_key = ?)`,
  fromStored,
);

/** Returns a part of a page of a source that is this object: the one of a moment, or the first. */
export const pagePart = selectOne<
  Stored,
  [{ sourceKey: number; sha256: string; moment: string | null }],
  ViewedRetrieval
>(
  `${SELECT} WHERE r.sha256 = $sha256 AND r.source_key = $sourceKey AND r.part_of IS NOT NULL
     AND ($moment IS NULL OR coalesce(r.original_observed_at, r.observed_at) = $moment)
   ORDER BY r.id LIMIT 1`,
  fromStored,
);

/** Returns the last event that made an object the version of a source, up to the time of a retrieval. */
export function eventOfVersion(
  database: ReadDatabase,
  { source_key, observed_at }: Pick<ViewedRetrieval, 'source_key' | 'observed_at'>,
  sha256: string,
): number | undefined {
  return lastEventOf(database, sha256, source_key, observed_at);
}

const lastEventOf = selectValue<number, [sha256: string, sourceKey: number, until: string]>(`
  SELECT max(id) FROM events WHERE sha256 = ? AND source_key = ? AND observed_at <= ?
  AND event_type IN ('first_seen', 'changed')`);

/** Returns the nearest observation of a source with another object, before or after a moment. */
export function otherVersion(
  database: ReadDatabase,
  { source_key, moment }: Pick<ViewedRetrieval, 'source_key' | 'moment'>,
  sha256: string,
  direction: 'older' | 'newer',
): VersionRow | undefined {
  return OTHER_VERSIONS[direction](database, source_key, moment, sha256);
}

const otherVersionOf = (compared: string, order: string) =>
  selectOne<VersionRow, [sourceKey: number, moment: string, sha256: string]>(
    `SELECT sha256, at FROM (
       SELECT sha256, ${MOMENT} AS at FROM retrievals INDEXED BY observations_by_moment
       WHERE source_key = ? AND sha256 IS NOT NULL AND error IS NULL AND part_of IS NULL
         AND ${MOMENT} ${compared} ?
       ORDER BY ${MOMENT} ${order}, id ${order} LIMIT ${MAX_UNCHANGED}
     ) WHERE sha256 <> ? LIMIT 1`,
  );
const OTHER_VERSIONS = { older: otherVersionOf('<', 'DESC'), newer: otherVersionOf('>', 'ASC') };

/** An event by which the node itself learned which version of a source there is. */
export interface VersionEvent {
  id: number;
  event_type: EventType;
  observed_at: string;
  sha256: string | null;
  is_noise: 0 | 1 | null;
}

/** Iterates over the node's own events of a source, oldest first. */
export const versionEvents = selectEach<VersionEvent, [sourceKey: number]>(`
  SELECT e.id, e.event_type, e.observed_at, e.sha256, ${IS_NOISE_COLUMN}
  FROM events e INDEXED BY events_by_source JOIN sources s ON s.key = e.source_key
  WHERE e.source_key = ? AND e.observer = 'self' ORDER BY e.observed_at, e.id`);

/** Returns the keys of the sources from which the node itself retrieved an object, at most `limit`. */
export const sourcesOfObject = selectValues<number, [sha256: string, limit: number]>(`
  SELECT DISTINCT source_key FROM events INDEXED BY events_by_object
  WHERE sha256 = ? AND observer = 'self' ORDER BY source_key LIMIT ?`);
