import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

/** A log for which this node is a witness. `root` is in hex; null before the first checkpoint. */
export interface WitnessedLogRow {
  origin: string;
  key: string;
  added_at: string;
  removed_at: string | null;
  size: number;
  root: string | null;
  /** The newest checkpoint that was cosigned. */
  note: string | null;
  cosigned_at: string | null;
}

/** A request that contradicts what was cosigned before. */
export interface RefusalRow {
  id: number;
  origin: string;
  at: string;
  known_size: number;
  known_note: string | null;
  size: number;
  /** The refused checkpoint without its signatures. */
  body: string;
  request: string;
}

export interface CosignatureRow {
  witness: string;
  /** The name of the log in the checkpoint that was cosigned. */
  origin: string;
  size: number;
  root: string;
  line: string;
  at: string;
  received_at: string;
}

export function witnessedLog(database: ReadDatabase, origin: string): WitnessedLogRow | undefined {
  return statement<WitnessedLogRow>(database, 'SELECT * FROM witnessed_logs WHERE origin = ?').get(origin);
}

export function allWitnessedLogs(database: ReadDatabase): WitnessedLogRow[] {
  return statement<WitnessedLogRow>(
    database,
    'SELECT * FROM witnessed_logs WHERE removed_at IS NULL ORDER BY added_at, origin',
  ).all();
}

/** Adds a log, or takes a removed one up again with the state that it had. */
export function insertWitnessedLog(database: WriteDatabase, origin: string, key: string, at: string): void {
  statement(
    database,
    `INSERT INTO witnessed_logs (origin, key, added_at) VALUES (?, ?, ?)
     ON CONFLICT (origin) DO UPDATE SET removed_at = NULL, key = excluded.key`,
  ).run(origin, key, at);
}

export function removeWitnessedLog(database: WriteDatabase, origin: string, at: string): void {
  statement(database, 'UPDATE witnessed_logs SET removed_at = ? WHERE origin = ?').run(at, origin);
}

export function setWitnessed(
  database: WriteDatabase,
  state: { origin: string; size: number; root: string; note: string; at: string },
): void {
  statement(
    database,
    'UPDATE witnessed_logs SET size = @size, root = @root, note = @note, cosigned_at = @at WHERE origin = @origin',
  ).run(state);
}

/** Keeps a refused request, once for each checkpoint, and at most `most` of one log. */
export function insertRefusal(database: WriteDatabase, refusal: Omit<RefusalRow, 'id'>, most: number): void {
  statement(
    database,
    `INSERT INTO witness_refusals (origin, at, known_size, known_note, size, body, request)
     SELECT @origin, @at, @known_size, @known_note, @size, @body, @request
     WHERE (SELECT count(*) FROM witness_refusals WHERE origin = @origin) < @most
     ON CONFLICT (origin, body) DO NOTHING`,
  ).run({ ...refusal, most });
}

/** Returns a page of refused requests, newest first, and their total number. */
export function refusalsPage(
  database: ReadDatabase,
  { limit, offset }: { limit: number; offset: number },
): { items: RefusalRow[]; total: number } {
  const items = statement<RefusalRow>(
    database,
    'SELECT * FROM witness_refusals ORDER BY id DESC LIMIT ? OFFSET ?',
  ).all(limit, offset);
  const total = statement<{ total: number }>(
    database,
    'SELECT count(*) AS total FROM witness_refusals',
  ).get();
  return { items, total: total?.total ?? 0 };
}

export function insertCosignature(database: WriteDatabase, cosignature: CosignatureRow): void {
  statement(
    database,
    `INSERT INTO cosignatures (witness, origin, size, root, line, at, received_at)
     VALUES (@witness, @origin, @size, @root, @line, @at, @received_at)
     ON CONFLICT (witness, size) DO UPDATE
     SET origin = excluded.origin, root = excluded.root, line = excluded.line, at = excluded.at, received_at = excluded.received_at`,
  ).run(cosignature);
}

/** Returns the newest cosignature of a witness. */
export function newestCosignature(database: ReadDatabase, witness: string): CosignatureRow | undefined {
  return statement<CosignatureRow>(
    database,
    'SELECT * FROM cosignatures WHERE witness = ? ORDER BY size DESC LIMIT 1',
  ).get(witness);
}

/** Returns the cosignatures of the checkpoint of this name, size and root. */
export function cosignaturesOf(
  database: ReadDatabase,
  checkpoint: { origin: string; size: number; root: string },
): CosignatureRow[] {
  return statement<CosignatureRow>(
    database,
    'SELECT * FROM cosignatures WHERE size = @size AND root = @root AND origin = @origin ORDER BY witness',
  ).all(checkpoint);
}

/** Returns the size of the newest checkpoint of this name over at least `size` entries that a witness cosigned. */
export function newestCosignedSize(database: ReadDatabase, size: number, origin: string): number | undefined {
  return statement<{ size: number }>(
    database,
    'SELECT size FROM cosignatures WHERE size >= ? AND origin = ? ORDER BY size DESC LIMIT 1',
  ).get(size, origin)?.size;
}

/**
 * Describes what authorities and witnesses have said so far, and what this node cosigned. The text changes whenever that
 * does; it is empty where there is nothing.
 */
export function proofsState(database: ReadDatabase): string {
  const row = statement<Record<string, number | null>>(
    database,
    `SELECT (SELECT count(*) FROM timestamps) AS timestamps,
       (SELECT max(size) FROM cosignatures) AS cosigned,
       (SELECT count(*) FROM cosignatures WHERE size = (SELECT max(size) FROM cosignatures)) AS witnesses,
       (SELECT count(*) + sum(size) FROM witnessed_logs) AS witnessed,
       (SELECT max(id) FROM witness_refusals) AS refused`,
  ).get();
  const counts = Object.values(row ?? {});
  return counts.some(Boolean) ? counts.map((value) => value ?? 0).join(' ') : '';
}
