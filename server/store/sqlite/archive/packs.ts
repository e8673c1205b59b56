import type { PackFile } from '../../../../shared/pack.ts';
import type { FlagReason, Outcome, Tag, Verdict } from '../../../../shared/vocabulary.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

/** What a pack's row holds beside its record; `ledger_entry` is its key. */
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
}

/** A pack as it is inserted, with what lists sort and count by. */
export interface NewPackRow extends Omit<PackRow, 'received_at' | 'replications'> {
  title_key: string;
  outcome: Outcome;
  study: string | null;
  replicates: string | null;
  verdict: Verdict | null;
  supersedes: string | null;
}

/** SQLite plans a join anew whenever a value is bound to it, which takes longer than finding the row; this it does not. */
const RECEIVED_AT = '(SELECT at FROM ledger WHERE seq = p.ledger_entry) AS received_at';

const PACK_COLUMNS = `p.ledger_entry, p.id, p.digest, p.tag, ${RECEIVED_AT}, p.bytes, p.files, p.record_bytes,
  p.replications, p.original_had_method FROM packs p`;

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

/** Counts one more replication of a pack. */
export function countReplication(database: WriteDatabase, original: string): void {
  statement(database, 'UPDATE packs SET replications = replications + 1 WHERE id = ?').run(original);
}

export function packById(database: ReadDatabase, id: string): PackRow | undefined {
  return statement<PackRow>(database, `SELECT ${PACK_COLUMNS} WHERE p.id = ?`).get(id);
}

export function packByDigest(database: ReadDatabase, digest: string): PackRow | undefined {
  return statement<PackRow>(database, `SELECT ${PACK_COLUMNS} WHERE p.digest = ?`).get(digest);
}

/** The packs of these ledger entries, in no particular order. */
export function packsByEntry(database: ReadDatabase, entries: readonly number[]): PackRow[] {
  return statement<PackRow>(
    database,
    `SELECT ${PACK_COLUMNS} WHERE p.ledger_entry IN (SELECT value FROM json_each(?))`,
  ).all(JSON.stringify(entries));
}

/** The canonical texts of the records of these ledger entries, in no particular order. */
export function recordTexts(
  database: ReadDatabase,
  entries: readonly number[],
): { ledger_entry: number; record: string }[] {
  return statement<{ ledger_entry: number; record: string }>(
    database,
    'SELECT ledger_entry, record FROM pack_records WHERE ledger_entry IN (SELECT value FROM json_each(?))',
  ).all(JSON.stringify(entries));
}

/** A record as it was recorded, and what the pack's row repeats of it; all null where the pack has no row. */
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

/** Every record with what its pack's row says, in the order of the ledger. */
export function iterateStoredPacks(database: ReadDatabase): IterableIterator<StoredPack> {
  return statement<StoredPack>(
    database,
    `SELECT r.ledger_entry, r.record, p.id, p.digest, p.outcome, p.tag, p.study, p.replicates, p.verdict,
       p.supersedes, p.bytes, p.files
     FROM pack_records r LEFT JOIN packs p ON p.ledger_entry = r.ledger_entry ORDER BY r.ledger_entry`,
  ).iterate();
}

/** The files of a pack as its rows have them, in the order of its record. */
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

/** The replications of these packs, oldest first. */
export function replicationsOf(database: ReadDatabase, ids: readonly string[]): ReplicationRow[] {
  return statement<ReplicationRow>(
    database,
    `SELECT p.replicates AS original, p.id AS pack, p.verdict, ${RECEIVED_AT}
     FROM packs p WHERE p.replicates IN (SELECT value FROM json_each(?)) ORDER BY p.ledger_entry`,
  ).all(JSON.stringify(ids));
}

/** The newest pack that supersedes each of these, where there is one. */
export function superseders(
  database: ReadDatabase,
  ids: readonly string[],
): { superseded: string; pack: string }[] {
  return statement<{ superseded: string; pack: string }>(
    database,
    // Beside max(), SQLite gives the other columns of the row that has it.
    `SELECT supersedes AS superseded, id AS pack, max(ledger_entry) FROM packs
     WHERE supersedes IN (SELECT value FROM json_each(?)) GROUP BY supersedes`,
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

/** The flags of these packs, oldest first. */
export function flagsOf(database: ReadDatabase, ids: readonly string[]): FlagRow[] {
  return statement<FlagRow>(
    database,
    `SELECT pack, reason, note, at FROM pack_flags WHERE pack IN (SELECT value FROM json_each(?))
     ORDER BY ledger_entry`,
  ).all(JSON.stringify(ids));
}

/** Every flag with the entry that recorded it, in the order of the ledger. */
export function iterateFlags(database: ReadDatabase): IterableIterator<FlagRow & { ledger_entry: number }> {
  return statement<FlagRow & { ledger_entry: number }>(
    database,
    'SELECT ledger_entry, pack, reason, note, at FROM pack_flags ORDER BY ledger_entry',
  ).iterate();
}
