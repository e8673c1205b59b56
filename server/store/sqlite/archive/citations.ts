import { type ReadDatabase, statement } from '../engine/open.ts';

/** Returns the version number of a pack: 1 plus the number of packs that it supersedes, directly or indirectly. */
export function versionNumber(database: ReadDatabase, id: string): number {
  const row = statement<{ packs: number }>(
    database,
    `WITH RECURSIVE earlier (id) AS (
       SELECT ? UNION SELECT p.supersedes FROM earlier e JOIN packs p ON p.id = e.id WHERE p.supersedes IS NOT NULL
     ) SELECT count(*) AS packs FROM earlier`,
  ).get(id);
  return row?.packs ?? 1;
}

export interface CitedPackRow {
  id: string;
  /** The record's authors, as JSON text. */
  authors: string;
  bytes: number;
  files: number;
}

/** Iterates over the packs of a study with the data for its citation, oldest first. */
export function iterateCitedPacks(database: ReadDatabase, study: string): IterableIterator<CitedPackRow> {
  return statement<CitedPackRow>(
    database,
    `SELECT p.id, r.record -> '$.authors' AS authors, p.bytes, p.files
     FROM packs p JOIN pack_records r ON r.ledger_entry = p.ledger_entry
     WHERE p.study = ? ORDER BY p.ledger_entry`,
  ).iterate(study);
}
