import type { License } from '../../../../shared/archive/vocabulary.ts';
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

/** Returns the authors and the licence of a pack's record. */
export function authorsAndLicense(
  database: ReadDatabase,
  entry: number,
): { authors: { orcid: string | null }[]; license: License | null } {
  const row = statement<{ authors: string; license: License }>(
    database,
    `SELECT record -> '$.authors' AS authors, record ->> '$.license' AS license
     FROM pack_records WHERE ledger_entry = ?`,
  ).get(entry);
  return {
    authors: row ? (JSON.parse(row.authors) as { orcid: string | null }[]) : [],
    license: row?.license ?? null,
  };
}

/** Returns the ids of the packs with this blob, oldest first, at most `limit`. */
export function packsWithBlob(database: ReadDatabase, sha256: string, limit: number): string[] {
  return statement<{ id: string }>(
    database,
    `SELECT id FROM packs WHERE ledger_entry IN (
       SELECT DISTINCT pack FROM pack_files WHERE sha256 = ? ORDER BY pack LIMIT ?) ORDER BY ledger_entry`,
  )
    .all(sha256, limit)
    .map(({ id }) => id);
}
