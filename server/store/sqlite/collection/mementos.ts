import { type ReadDatabase, statement } from '../engine/open.ts';

/** An observation of a source (RFC 7089). Its moment is the capture's own time, or else the time of the observation. */
export interface MementoRow {
  id: number;
  moment: string;
  sha256: string;
  content_type: string | null;
  status: number | null;
  headers: [string, string][];
}

/** The same expression as in the index `observations_by_moment`. */
const MOMENT = 'coalesce(original_observed_at, observed_at)';
const OBSERVATIONS = `retrievals INDEXED BY observations_by_moment
  WHERE source_key = ? AND sha256 IS NOT NULL AND error IS NULL`;

/** Returns the first observation of a source between two moments, both inclusive; the newest of several at one moment. */
export function mementoBetween(
  database: ReadDatabase,
  sourceKey: number,
  from: string,
  until: string,
): MementoRow | undefined {
  const row = statement<Omit<MementoRow, 'headers'> & { headers: string }>(
    database,
    `SELECT id, ${MOMENT} AS moment, sha256, content_type, status, headers FROM ${OBSERVATIONS}
     AND ${MOMENT} BETWEEN ? AND ? ORDER BY ${MOMENT}, id DESC LIMIT 1`,
  ).get(sourceKey, from, until);
  return row && { ...row, headers: JSON.parse(row.headers) as [string, string][] };
}

/** Returns the distinct moments of a source's observations after a moment, in order. */
export function momentsAfter(
  database: ReadDatabase,
  sourceKey: number,
  moment: string,
  limit: number,
): string[] {
  return statement<{ moment: string }>(
    database,
    `SELECT DISTINCT ${MOMENT} AS moment FROM ${OBSERVATIONS} AND ${MOMENT} > ? ORDER BY ${MOMENT} LIMIT ?`,
  )
    .all(sourceKey, moment, limit)
    .map((row) => row.moment);
}

/** Returns the last moment of a source's observations before a moment. */
export function momentBefore(database: ReadDatabase, sourceKey: number, moment: string): string | undefined {
  return statement<{ moment: string }>(
    database,
    `SELECT ${MOMENT} AS moment FROM ${OBSERVATIONS} AND ${MOMENT} < ? ORDER BY ${MOMENT} DESC LIMIT 1`,
  ).get(sourceKey, moment)?.moment;
}
