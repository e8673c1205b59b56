import { type ReadDatabase, statement } from '../engine/open.ts';

/** An observation as it is given back: at the moment that it shows, which is a capture's own where there is one. */
export interface MementoRow {
  id: number;
  moment: string;
  sha256: string;
  content_type: string | null;
}

/** Written as the index `observations_by_moment` has it. */
const MOMENT = 'coalesce(original_observed_at, observed_at)';
const OBSERVATIONS = `retrievals INDEXED BY observations_by_moment
  WHERE source_key = ? AND sha256 IS NOT NULL AND error IS NULL`;

/** The observation of a source between two moments, both inclusive: the first, and of several at once the newest. */
export function mementoBetween(
  database: ReadDatabase,
  sourceKey: number,
  from: string,
  until: string,
): MementoRow | undefined {
  return statement<MementoRow>(
    database,
    `SELECT id, ${MOMENT} AS moment, sha256, content_type FROM ${OBSERVATIONS}
     AND ${MOMENT} BETWEEN ? AND ? ORDER BY ${MOMENT}, id DESC LIMIT 1`,
  ).get(sourceKey, from, until);
}

/** The moments of a source's observations after one, each once, in their order. */
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

/** The last moment before one. */
export function momentBefore(database: ReadDatabase, sourceKey: number, moment: string): string | undefined {
  return statement<{ moment: string }>(
    database,
    `SELECT ${MOMENT} AS moment FROM ${OBSERVATIONS} AND ${MOMENT} < ? ORDER BY ${MOMENT} DESC LIMIT 1`,
  ).get(sourceKey, moment)?.moment;
}
