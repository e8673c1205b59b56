import type { License } from '../../../../shared/archive/vocabulary.ts';
import { type ReadDatabase, statement } from '../engine/open.ts';

export interface CitedPackRow {
  id: string;
  /** The record's authors, as JSON text. */
  authors: string;
  bytes: number;
  files: number;
}

/** Iterates over the packs of a study with the data for its citation, oldest first. @param limit -1 for all packs. */
export function iterateCitedPacks(
  database: ReadDatabase,
  study: string,
  limit: number,
): IterableIterator<CitedPackRow> {
  return statement<CitedPackRow>(
    database,
    `SELECT p.id, r.record -> '$.authors' AS authors, p.bytes, p.files
     FROM packs p JOIN pack_records r ON r.ledger_entry = p.ledger_entry
     WHERE p.study = ? ORDER BY p.ledger_entry LIMIT ?`,
  ).iterate(study, limit);
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
