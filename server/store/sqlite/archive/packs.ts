import type { PackFile } from '../../../../shared/archive/pack.ts';
import type { FlagReason, Outcome, Tag, Verdict } from '../../../../shared/archive/vocabulary.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

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
}

/** A new pack's row, with the columns that lists sort and count by. */
export interface NewPackRow extends Omit<PackRow, 'received_at' | 'replications'> {
  title_key: string;
  outcome: Outcome;
  study: string | null;
  replicates: string | null;
  verdict: Verdict | null;
}

/** A subquery, because SQLite plans a join again for each bound value, which takes longer than finding the row. */
const RECEIVED_AT = '(SELECT at FROM ledger WHERE seq = p.ledger_entry) AS received_at';

const PACK_COLUMNS = `p.ledger_entry, p.id, p.digest, p.tag, ${RECEIVED_AT}, p.bytes, p.files, p.record_bytes,
  p.replications, p.original_had_method, p.supersedes FROM packs p`;

export function insertPack(database: WriteDatabase, pack: NewPackRow): void {
  statement(
    database,
    `INSERT INTO packs (ledger_entry, id, digest, title_key, outcome, tag, study, replicates, verdict,
       original_had_method, supersedes, bytes, files, record_bytes)
     VALUES ($ledger_entry, $id, $digest, $title_key, $outcome, $tag, $study, $replicates, $verdict,
       $original_had_method, $supersedes, $bytes, $files, $record_bytes)`,
  ).run(pack);
}

export function insertPackRecord(database: WriteDatabase, entry: number, record: string): void {
  statement(database, 'INSERT INTO pack_records (ledger_entry, record) VALUES (?, ?)').run(entry, record);
}

export function insertPackFile(database: WriteDatabase, pack: number, file: PackFile): void {
  statement(
    database,
    'INSERT INTO pack_files (pack, path, sha256, bytes, media_type) VALUES (?, ?, ?, ?, ?)',
  ).run(pack, file.path, file.sha256, file.bytes, file.media_type);
}

/** Increments the number of replications of a pack. */
export function countReplication(database: WriteDatabase, original: string): void {
  statement(database, 'UPDATE packs SET replications = replications + 1 WHERE id = ?').run(original);
}

export function packById(database: ReadDatabase, id: string): PackRow | undefined {
  return statement<PackRow>(database, `SELECT ${PACK_COLUMNS} WHERE p.id = ?`).get(id);
}

export function packByDigest(database: ReadDatabase, digest: string): PackRow | undefined {
  return statement<PackRow>(database, `SELECT ${PACK_COLUMNS} WHERE p.digest = ?`).get(digest);
}

/** Returns the packs of these ledger entries, in no particular order. */
export function packsByEntry(database: ReadDatabase, entries: readonly number[]): PackRow[] {
  return statement<PackRow>(
    database,
    `SELECT ${PACK_COLUMNS} WHERE p.ledger_entry IN (SELECT value FROM json_each(?))`,
  ).all(JSON.stringify(entries));
}

/** Returns the canonical texts of the records of these ledger entries, in no particular order. */
export function recordTexts(
  database: ReadDatabase,
  entries: readonly number[],
): { ledger_entry: number; record: string }[] {
  return statement<{ ledger_entry: number; record: string }>(
    database,
    'SELECT ledger_entry, record FROM pack_records WHERE ledger_entry IN (SELECT value FROM json_each(?))',
  ).all(JSON.stringify(entries));
}

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
  supersedes: string | null;
  bytes: number | null;
  files: number | null;
}

/** Iterates over all records with the rows of their packs, in ledger order. */
export function iterateStoredPacks(database: ReadDatabase): IterableIterator<StoredPack> {
  return statement<StoredPack>(
    database,
    `SELECT r.ledger_entry, r.record, p.id, p.digest, p.outcome, p.tag, p.study, p.replicates, p.verdict,
       p.supersedes, p.bytes, p.files
     FROM pack_records r LEFT JOIN packs p ON p.ledger_entry = r.ledger_entry ORDER BY r.ledger_entry`,
  ).iterate();
}

/** Returns the files of a pack from their rows, in the order of its record. */
export function filesOfPack(database: ReadDatabase, pack: number): PackFile[] {
  return statement<PackFile>(
    database,
    'SELECT path, sha256, bytes, media_type FROM pack_files WHERE pack = ? ORDER BY path',
  ).all(pack);
}

export interface ReplicationRow {
  original: string;
  pack: string;
  verdict: Verdict;
  received_at: string;
}

/** Returns the replications of these packs, oldest first. */
export function replicationsOf(database: ReadDatabase, ids: readonly string[]): ReplicationRow[] {
  return statement<ReplicationRow>(
    database,
    `SELECT p.replicates AS original, p.id AS pack, p.verdict, ${RECEIVED_AT}
     FROM packs p WHERE p.replicates IN (SELECT value FROM json_each(?)) ORDER BY p.ledger_entry`,
  ).all(JSON.stringify(ids));
}

/** Returns the newest pack that supersedes each of these, if any. */
export function superseders(
  database: ReadDatabase,
  ids: readonly string[],
): { superseded: string; pack: string }[] {
  return statement<{ superseded: string; pack: string }>(
    database,
    // With max(), SQLite takes the other columns from the row of the maximum.
    `SELECT supersedes AS superseded, id AS pack, max(ledger_entry) FROM packs
     WHERE supersedes IN (SELECT value FROM json_each(?)) GROUP BY supersedes`,
  ).all(JSON.stringify(ids));
}

/** Returns these packs and those they supersede, directly or indirectly: each that supersedes another, with that pack. */
export function supersededPacks(
  database: ReadDatabase,
  ids: readonly string[],
): { id: string; supersedes: string }[] {
  return statement<{ id: string; supersedes: string }>(
    database,
    // UNION visits a pack once, so packs of one chain share the work.
    `WITH RECURSIVE chain (id, supersedes) AS (
       SELECT id, supersedes FROM packs WHERE id IN (SELECT value FROM json_each(?)) AND supersedes IS NOT NULL
       UNION SELECT p.id, p.supersedes FROM chain c JOIN packs p ON p.id = c.supersedes
       WHERE p.supersedes IS NOT NULL
     ) SELECT id, supersedes FROM chain`,
  ).all(JSON.stringify(ids));
}

export interface FlagRow {
  pack: string;
  reason: FlagReason;
  note: string;
  at: string;
}

export function insertFlag(database: WriteDatabase, flag: FlagRow & { ledger_entry: number }): void {
  statement(
    database,
    'INSERT INTO pack_flags (ledger_entry, pack, reason, note, at) VALUES ($ledger_entry, $pack, $reason, $note, $at)',
  ).run(flag);
}

/** Returns the flags of these packs, oldest first. */
export function flagsOf(database: ReadDatabase, ids: readonly string[]): FlagRow[] {
  return statement<FlagRow>(
    database,
    `SELECT pack, reason, note, at FROM pack_flags WHERE pack IN (SELECT value FROM json_each(?))
     ORDER BY ledger_entry`,
  ).all(JSON.stringify(ids));
}

/** Iterates over all flags with their ledger entries, in ledger order. */
export function iterateFlags(database: ReadDatabase): IterableIterator<FlagRow & { ledger_entry: number }> {
  return statement<FlagRow & { ledger_entry: number }>(
    database,
    'SELECT ledger_entry, pack, reason, note, at FROM pack_flags ORDER BY ledger_entry',
  ).iterate();
}
