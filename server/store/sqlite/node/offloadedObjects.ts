import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

/** An object whose bytes may have left this disk. */
export interface OffloadedRow {
  sha256: string;
  bytes: number;
  /** The SHA-256 of each mebibyte, 32 bytes each. */
  pieces: Buffer;
}

/** Returns the size of an object that may have left this disk, or undefined. */
export function offloadedBytes(database: ReadDatabase, sha256: string): number | undefined {
  return statement<{ bytes: number }>(database, 'SELECT bytes FROM offloaded_objects WHERE sha256 = ?').get(
    sha256,
  )?.bytes;
}

export function offloadedObject(database: ReadDatabase, sha256: string): OffloadedRow | undefined {
  return statement<OffloadedRow>(
    database,
    'SELECT sha256, bytes, pieces FROM offloaded_objects WHERE sha256 = ?',
  ).get(sha256);
}

/**
 * Records that an object may leave this disk. Returns false, and does nothing, if the copy no longer holds it or it is
 * recorded as damaged.
 */
export function insertOffloaded(
  database: WriteDatabase,
  copy: string,
  { sha256, bytes, pieces, at }: OffloadedRow & { at: string },
): boolean {
  return (
    statement(
      database,
      `INSERT INTO offloaded_objects (sha256, bytes, pieces, offloaded_at)
       SELECT @sha256, @bytes, @pieces, @at
       WHERE EXISTS (SELECT 1 FROM copied_objects WHERE copy = @copy AND sha256 = @sha256)
         AND NOT EXISTS (SELECT 1 FROM damaged_objects WHERE sha256 = @sha256)
       ON CONFLICT DO NOTHING`,
    ).run({ copy, sha256, bytes, pieces, at }).changes > 0
  );
}

/** How many of the objects that left this disk a copy holds. */
export interface AwayObjects {
  target: string;
  objects: number;
}

/** Returns how many of the objects that left this disk each copy holds; an object can be in several. */
export function awayObjectsByCopy(database: ReadDatabase): AwayObjects[] {
  return statement<AwayObjects>(
    database,
    `SELECT c.target, count(*) AS objects FROM offloaded_objects o
     JOIN copied_objects p ON p.sha256 = o.sha256 JOIN copies c ON c.id = p.copy
     WHERE o.is_removed = 1 GROUP BY c.id ORDER BY c.added_at, c.id`,
  ).all();
}

export function setRemoved(database: WriteDatabase, digests: readonly string[]): void {
  const update = statement(database, 'UPDATE offloaded_objects SET is_removed = 1 WHERE sha256 = ?');
  for (const sha256 of digests) update.run(sha256);
}

/** Returns objects that may leave this disk and whose local file was not deleted yet. */
export function notRemoved(database: ReadDatabase, limit: number): string[] {
  return statement<{ sha256: string }>(
    database,
    'SELECT sha256 FROM offloaded_objects WHERE is_removed = 0 ORDER BY sha256 LIMIT ?',
  )
    .all(limit)
    .map(({ sha256 }) => sha256);
}

/** Records that an object is on this disk again. */
export function forgetOffloaded(database: WriteDatabase, sha256: string): void {
  statement(database, 'DELETE FROM offloaded_objects WHERE sha256 = ?').run(sha256);
}

/** Returns objects that have left this disk, after a digest, in order. */
export function offloadedAfter(database: ReadDatabase, after: string, limit: number): string[] {
  return statement<{ sha256: string }>(
    database,
    'SELECT sha256 FROM offloaded_objects WHERE sha256 > ? ORDER BY sha256 LIMIT ?',
  )
    .all(after, limit)
    .map(({ sha256 }) => sha256);
}

/** Objects that left this disk, are not known to be lost, and that only the given copy may hold. */
const ONLY_IN = `FROM offloaded_objects o
   WHERE NOT EXISTS (SELECT 1 FROM damaged_objects d WHERE d.sha256 = o.sha256) AND NOT EXISTS
     (SELECT 1 FROM copies k CROSS JOIN copied_objects c ON c.copy = k.id AND c.sha256 = o.sha256
      WHERE k.id <> ?)`;

/** Returns the number of objects that left this disk, are not known to be lost, and that only this copy may hold. */
export function objectsOnlyIn(database: ReadDatabase, copy: string): number {
  return statement<{ count: number }>(database, `SELECT count(*) AS count ${ONLY_IN}`).get(copy)?.count ?? 0;
}

/** Returns a page of these objects after a digest, in order. */
export function onlyInAfter(
  database: ReadDatabase,
  copy: string,
  after: string,
  limit: number,
): { sha256: string; bytes: number }[] {
  return statement<{ sha256: string; bytes: number }>(
    database,
    `SELECT o.sha256, o.bytes ${ONLY_IN} AND o.sha256 > ? ORDER BY o.sha256 LIMIT ?`,
  ).all(copy, after, limit);
}

/** Returns the copies that are known to hold an object. */
export function copiesHolding(database: ReadDatabase, sha256: string): string[] {
  return statement<{ copy: string }>(
    database,
    'SELECT copy FROM copies CROSS JOIN copied_objects ON copy = id AND sha256 = ? ORDER BY target, copy',
  )
    .all(sha256)
    .map(({ copy }) => copy);
}

/** A page of the blobs in the order of their digests: the bytes on this disk by the day on which they were stored. */
export interface LocalPage {
  /** The last digest of the page; undefined after the last page. */
  last: string | undefined;
  days: { day: string; bytes: number }[];
}

export function localBytesByDay(database: ReadDatabase, after: string, limit: number): LocalPage {
  const rows = statement<{ sha256: string; bytes: number; day: string; offloaded: number }>(
    database,
    `SELECT b.sha256, b.bytes, substr(b.stored_at, 1, 10) AS day,
       EXISTS (SELECT 1 FROM offloaded_objects o WHERE o.sha256 = b.sha256) AS offloaded
     FROM blobs b WHERE b.sha256 > ? ORDER BY b.sha256 LIMIT ?`,
  ).all(after, limit);
  const days = new Map<string, number>();
  for (const { day, bytes, offloaded } of rows) if (!offloaded) days.set(day, (days.get(day) ?? 0) + bytes);
  return { last: rows.at(-1)?.sha256, days: [...days].map(([day, bytes]) => ({ day, bytes })) };
}

/** Which objects may leave this disk. */
export interface OffloadRule {
  /** Stored at this time or before (RFC 3339). */
  storedUntil: string;
  /** Read back from a copy at this time or after. */
  checkedSince: string;
}

/** An object that may leave this disk, and a copy that was read back. */
export interface Candidate {
  sha256: string;
  bytes: number;
  copy: string;
}

/** A page of the blobs in the order of their digests: those that may leave this disk. */
export interface CandidatePage {
  /** The last digest of the page; undefined after the last page. */
  last: string | undefined;
  candidates: Candidate[];
}

/** Looks at `limit` blobs after a digest, so that no call takes long. */
export function offloadCandidates(
  database: ReadDatabase,
  { storedUntil, checkedSince }: OffloadRule,
  after: string,
  limit: number,
): CandidatePage {
  const rows = statement<{ sha256: string; bytes: number; copy: string | null }>(
    database,
    `SELECT b.sha256, b.bytes, CASE WHEN b.stored_at <= ? AND b.bytes > 0
         AND NOT EXISTS (SELECT 1 FROM offloaded_objects o WHERE o.sha256 = b.sha256)
         AND NOT EXISTS (SELECT 1 FROM damaged_objects d WHERE d.sha256 = b.sha256)
       THEN (SELECT c.copy FROM copies k CROSS JOIN copied_objects c ON c.copy = k.id AND c.sha256 = b.sha256
         WHERE c.checked_at >= ? ORDER BY c.checked_at DESC LIMIT 1) END AS copy
     FROM blobs b WHERE b.sha256 > ? ORDER BY b.sha256 LIMIT ?`,
  ).all(storedUntil, checkedSince, after, limit);
  const candidates = rows.flatMap(({ copy, ...row }) => (copy === null ? [] : [{ ...row, copy }]));
  return { last: rows.at(-1)?.sha256, candidates };
}
