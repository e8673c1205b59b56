import type { PackFile } from '../../../../shared/archive/pack.ts';
import type { FlagReason, License, Outcome, Tag, Verdict } from '../../../../shared/archive/vocabulary.ts';
import type { ReadDatabase, WriteDatabase } from '../engine/open.ts';
import { change, inserts, selectAll, selectEach, selectOne, selectValues } from '../engine/queries.ts';

/** The row of a pack, without its record. `ledger_entry` is its key. */
export interface PackRow {
  ledger_entry: number;
  id: string;
  digest: string;
  tag: Tag;
  received_at: string;
  bytes: number;
  files: number;
  record_bytes: number;
  replications: number;
  original_had_method: 0 | 1 | null;
  supersedes: string | null;
  /** The id of the set that it is a part of. */
  part_of: string | null;
}

/** A new pack's row, with the columns that lists sort and count by. */
interface NewPackRow extends Omit<PackRow, 'received_at' | 'replications'> {
  title_key: string;
  outcome: Outcome;
  study: string | null;
  replicates: string | null;
  verdict: Verdict | null;
}

/** A subquery, because SQLite plans a join again for each bound value, which takes longer than finding the row. */
const RECEIVED_AT = '(SELECT at FROM ledger WHERE seq = p.ledger_entry) AS received_at';

const PACK_COLUMNS = `p.ledger_entry, p.id, p.digest, p.tag, ${RECEIVED_AT}, p.bytes, p.files, p.record_bytes,
  p.replications, p.original_had_method, p.supersedes, p.part_of FROM packs p`;

const NEW_PACK_COLUMNS = `ledger_entry, id, digest, title_key, outcome, tag, study, replicates, verdict,
  original_had_method, supersedes, part_of, bytes, files, record_bytes`;

export const insertPack = inserts<NewPackRow>('packs', NEW_PACK_COLUMNS);

export function insertPackRecord(database: WriteDatabase, entry: number, record: string): void {
  insertRecord(database, { ledger_entry: entry, record });
}
const insertRecord = inserts<{ ledger_entry: number; record: string }>(
  'pack_records',
  'ledger_entry, record',
);

/** Inserts the rows of the files of a pack in one statement, which takes half as long as one for each. */
export const insertPackFiles = change<[pack: number, files: readonly PackFile[]]>(
  `INSERT INTO pack_files (pack, path, sha256, bytes, media_type)
   SELECT ?, value ->> 'path', value ->> 'sha256', value ->> 'bytes', value ->> 'media_type' FROM json_each(?)`,
);

/** Increments the number of replications of a pack. */
export const countReplication = change<[original: string]>(
  'UPDATE packs SET replications = replications + 1 WHERE id = ?',
);

export const packById = selectOne<PackRow, [id: string]>(`SELECT ${PACK_COLUMNS} WHERE p.id = ?`);

export const packByDigest = selectOne<PackRow, [digest: string]>(`SELECT ${PACK_COLUMNS} WHERE p.digest = ?`);

/** Returns the packs of these ledger entries, in no particular order. */
export const packsByEntry = selectAll<PackRow, [entries: readonly number[]]>(
  `SELECT ${PACK_COLUMNS} WHERE p.ledger_entry IN (SELECT value FROM json_each(?))`,
);

/** Returns the canonical texts of the records of these ledger entries, in no particular order. */
export const recordTexts = selectAll<{ ledger_entry: number; record: string }, [entries: readonly number[]]>(
  'SELECT ledger_entry, record FROM pack_records WHERE ledger_entry IN (SELECT value FROM json_each(?))',
);

/** A record, and the columns of the pack's row that repeat it; they are null if the pack has no row. */
export interface StoredPack {
  ledger_entry: number;
  record: string;
  id: string | null;
  digest: string | null;
  outcome: string | null;
  tag: string | null;
  study: string | null;
  replicates: string | null;
  verdict: string | null;
  original_had_method: 0 | 1 | null;
  /** The tag of the pack that it replicates. */
  tag_of_original: string | null;
  supersedes: string | null;
  part_of: string | null;
  bytes: number | null;
  files: number | null;
}

/** Iterates over all records with the rows of their packs, in ledger order. */
export const iterateStoredPacks = selectEach<StoredPack>(`
  SELECT r.ledger_entry, r.record, p.id, p.digest, p.outcome, p.tag, p.study, p.replicates, p.verdict,
    p.original_had_method, o.tag AS tag_of_original, p.supersedes, p.part_of, p.bytes, p.files
  FROM pack_records r LEFT JOIN packs p ON p.ledger_entry = r.ledger_entry
    LEFT JOIN packs o ON o.id = p.replicates AND o.ledger_entry < p.ledger_entry
  ORDER BY r.ledger_entry`);

/** Returns the files of a pack from their rows, in the order of its record. */
export const filesOfPack = selectAll<PackFile, [pack: number]>(
  'SELECT path, sha256, bytes, media_type FROM pack_files WHERE pack = ? ORDER BY path',
);

export interface ReplicationRow {
  original: string;
  pack: string;
  verdict: Verdict;
  received_at: string;
}

/** Returns the replications of these packs, oldest first. */
export const replicationsOf = selectAll<ReplicationRow, [ids: readonly string[]]>(`
  SELECT p.replicates AS original, p.id AS pack, p.verdict, ${RECEIVED_AT}
  FROM packs p WHERE p.replicates IN (SELECT value FROM json_each(?)) ORDER BY p.ledger_entry`);

/**
 * Returns the newest pack that supersedes each of these, if any. With max(), SQLite takes the other columns from the row
 * of the maximum.
 */
export const superseders = selectAll<{ superseded: string; pack: string }, [ids: readonly string[]]>(`
  SELECT supersedes AS superseded, id AS pack, max(ledger_entry) FROM packs
  WHERE supersedes IN (SELECT value FROM json_each(?)) GROUP BY supersedes`);

/**
 * Returns these packs and those they supersede, directly or indirectly: each that supersedes another, with that pack.
 * UNION visits a pack once, so packs of one chain share the work.
 */
export const supersededPacks = selectAll<{ id: string; supersedes: string }, [ids: readonly string[]]>(`
  WITH RECURSIVE chain (id, supersedes) AS (
    SELECT id, supersedes FROM packs WHERE id IN (SELECT value FROM json_each(?)) AND supersedes IS NOT NULL
    UNION SELECT p.id, p.supersedes FROM chain c JOIN packs p ON p.id = c.supersedes
    WHERE p.supersedes IS NOT NULL
  ) SELECT id, supersedes FROM chain`);

export interface FlagRow {
  pack: string;
  reason: FlagReason;
  note: string;
  at: string;
}

export const insertFlag = inserts<FlagRow & { ledger_entry: number }>(
  'pack_flags',
  'ledger_entry, pack, reason, note, at',
);

/** Returns the flags of these packs, oldest first. */
export const flagsOf = selectAll<FlagRow, [ids: readonly string[]]>(`
  SELECT pack, reason, note, at FROM pack_flags WHERE pack IN (SELECT value FROM json_each(?))
  ORDER BY ledger_entry`);

/** Iterates over all flags with their ledger entries, in ledger order. */
export const iterateFlags = selectEach<FlagRow & { ledger_entry: number }>(
  'SELECT ledger_entry, pack, reason, note, at FROM pack_flags ORDER BY ledger_entry',
);

/** A file of a pack. `pack` is the ledger entry of the pack. */
interface FileOfPack {
  pack: number;
  id: string;
  path: string;
}

/** Returns the files with these bytes in other packs, oldest pack first. */
export const filesWithDigest = selectAll<
  FileOfPack,
  [values: { sha256: string; exceptPack: number; limit: number }]
>(`
  SELECT f.pack, p.id, f.path FROM pack_files f INDEXED BY pack_files_by_sha256 JOIN packs p ON p.ledger_entry = f.pack
  WHERE f.sha256 = $sha256 AND f.pack <> $exceptPack ORDER BY f.pack, f.path LIMIT $limit`);

/** A later version of a pack, with the digest that it has at a path; null if it has no file there. */
interface FileVersion {
  id: string;
  received_at: string;
  sha256: string | null;
}

/** Returns the versions that follow a pack, oldest first. Where two packs supersede one, the newer one is followed. */
export const laterFileVersions = selectAll<FileVersion, [pack: string, path: string]>(`
  WITH RECURSIVE later (id, entry) AS (
    SELECT id, ledger_entry FROM packs WHERE ledger_entry = (SELECT max(ledger_entry) FROM packs WHERE supersedes = ?)
    UNION ALL
    SELECT p.id, p.ledger_entry FROM later l JOIN packs p
      ON p.ledger_entry = (SELECT max(ledger_entry) FROM packs WHERE supersedes = l.id)
  )
  SELECT l.id, (SELECT at FROM ledger WHERE seq = l.entry) AS received_at,
    (SELECT sha256 FROM pack_files WHERE pack = l.entry AND path = ?) AS sha256
  FROM later l ORDER BY l.entry`);

interface CitedPackRow {
  id: string;
  /** The record's authors, as JSON text. */
  authors: string;
  bytes: number;
  files: number;
}

/** Iterates over the packs of a study with the data for its citation, oldest first. @param limit -1 for all packs. */
export const iterateCitedPacks = selectEach<CitedPackRow, [study: string, limit: number]>(`
  SELECT p.id, r.record -> '$.authors' AS authors, p.bytes, p.files
  FROM packs p JOIN pack_records r ON r.ledger_entry = p.ledger_entry
  WHERE p.study = ? ORDER BY p.ledger_entry LIMIT ?`);

/** Returns the authors and the licence of a pack's record. */
export function authorsAndLicense(
  database: ReadDatabase,
  entry: number,
): { authors: { orcid: string | null }[]; license: License | null } {
  const row = authorsOf(database, entry);
  return {
    authors: row ? (JSON.parse(row.authors) as { orcid: string | null }[]) : [],
    license: row?.license ?? null,
  };
}

const authorsOf = selectOne<{ authors: string; license: License }, [entry: number]>(`
  SELECT record -> '$.authors' AS authors, record ->> '$.license' AS license
  FROM pack_records WHERE ledger_entry = ?`);

/** Returns the ids of the packs with this blob, oldest first, at most `limit`. */
export const packsWithBlob = selectValues<string, [sha256: string, limit: number]>(`
  SELECT id FROM packs WHERE ledger_entry IN (
  SELECT DISTINCT pack FROM pack_files WHERE sha256 = ? ORDER BY pack LIMIT ?) ORDER BY ledger_entry`);

/** A pack that names related works; `related` are their identifiers. */
interface RelatingPack {
  ledger_entry: number;
  id: string;
  supersedes: string | null;
  related: string[];
}

/** Returns the first `limit` packs after a ledger entry, with what they relate to. */
export const packsAfter = selectAll<
  Omit<RelatingPack, 'related'> & { related: string },
  [entry: number, limit: number],
  RelatingPack
>(
  `SELECT p.ledger_entry, p.id, p.supersedes,
       (SELECT json_group_array(json_extract(j.value, '$.identifier')) FROM json_each(r.record, '$.related') j) AS related
     FROM packs p JOIN pack_records r ON r.ledger_entry = p.ledger_entry
     WHERE p.ledger_entry > ? ORDER BY p.ledger_entry LIMIT ?`,
  (row) => ({ ...row, related: JSON.parse(row.related) as string[] }),
);
