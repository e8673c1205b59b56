import { type ReadDatabase, statement } from '../engine/open.ts';

/** A retrieval that brought an object. */
export interface ViewedRetrieval {
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
export interface VersionRow {
  sha256: string;
  at: string;
}

type Stored = Omit<ViewedRetrieval, 'headers'> & { headers: string };

/** The same expression as in the index `observations_by_moment`. */
const MOMENT = 'coalesce(original_observed_at, observed_at)';
const SELECT = `SELECT r.source_key, s.id AS source_id, s.url, s.name, r.final_url, r.observer, r.observed_at,
    r.original_observed_at, coalesce(r.original_observed_at, r.observed_at) AS moment, r.status, r.error,
    r.content_type, r.headers
  FROM retrievals r JOIN sources s ON s.key = r.source_key`;
/** Unchanged observations that are passed to find another version. */
const MAX_UNCHANGED = 20_000;

function fromStored(row: Stored | undefined): ViewedRetrieval | undefined {
  return row && { ...row, headers: JSON.parse(row.headers) as [string, string][] };
}

/** Returns the observation of an object at a moment, by the key of its source. */
export function retrievalAt(
  database: ReadDatabase,
  { sourceKey, sha256, moment }: { sourceKey: number; sha256: string; moment: string },
): ViewedRetrieval | undefined {
  const id = statement<{ id: number }>(
    database,
    `SELECT id FROM retrievals INDEXED BY observations_by_moment
     WHERE source_key = ? AND sha256 IS NOT NULL AND error IS NULL AND ${MOMENT} = ? AND sha256 = ? LIMIT 1`,
  ).get(sourceKey, moment, sha256)?.id;
  return id === undefined
    ? undefined
    : fromStored(statement<Stored>(database, `${SELECT} WHERE r.id = ?`).get(id));
}

/** Returns the retrieval that first brought an object, from any source or as a version of one source. */
export function firstRetrieval(
  database: ReadDatabase,
  sha256: string,
  sourceKey?: number,
): ViewedRetrieval | undefined {
  if (sourceKey === undefined)
    return fromStored(
      statement<Stored>(database, `${SELECT} WHERE r.sha256 = ? ORDER BY r.id LIMIT 1`).get(sha256),
    );
  return fromStored(
    statement<Stored>(
      database,
      `${SELECT} WHERE r.id = (SELECT min(retrieval) FROM events WHERE sha256 = ? AND source_key = ?)`,
    ).get(sha256, sourceKey),
  );
}

/** Returns the last event that made an object the version of a source, up to the time of a retrieval. */
export function eventOfVersion(
  database: ReadDatabase,
  { source_key, observed_at }: Pick<ViewedRetrieval, 'source_key' | 'observed_at'>,
  sha256: string,
): number | undefined {
  return (
    statement<{ id: number | null }>(
      database,
      `SELECT max(id) AS id FROM events WHERE sha256 = ? AND source_key = ? AND observed_at <= ?
       AND event_type IN ('first_seen', 'changed')`,
    ).get(sha256, source_key, observed_at)?.id ?? undefined
  );
}

/** Returns the nearest observation of a source with another object, before or after a moment. */
export function otherVersion(
  database: ReadDatabase,
  { source_key, moment }: Pick<ViewedRetrieval, 'source_key' | 'moment'>,
  sha256: string,
  direction: 'older' | 'newer',
): VersionRow | undefined {
  const [compared, order] = direction === 'older' ? ['<', 'DESC'] : ['>', 'ASC'];
  return statement<VersionRow>(
    database,
    `SELECT sha256, at FROM (
       SELECT sha256, ${MOMENT} AS at FROM retrievals INDEXED BY observations_by_moment
       WHERE source_key = ? AND sha256 IS NOT NULL AND error IS NULL AND ${MOMENT} ${compared} ?
       ORDER BY ${MOMENT} ${order}, id ${order} LIMIT ${MAX_UNCHANGED}
     ) WHERE sha256 <> ? LIMIT 1`,
  ).get(source_key, moment, sha256);
}
