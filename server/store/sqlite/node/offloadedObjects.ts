import type { ReadDatabase, WriteDatabase } from '../engine/open.ts';
import { change, hasRow, selectAll, selectOne, selectValue, selectValues } from '../engine/queries.ts';
import { isReleasedSql, isWithheldSql } from './withheld.ts';

/** An object whose bytes may be offloaded. */
export interface OffloadedRow {
  sha256: string;
  bytes: number;
  /** The SHA-256 of each mebibyte, 32 bytes each. */
  pieces: Buffer;
}

/** Returns the size of an object that may be offloaded, or undefined. */
export const offloadedBytes = selectValue<number, [sha256: string]>(
  'SELECT bytes FROM offloaded_objects WHERE sha256 = ?',
);

export const offloadedObject = selectOne<OffloadedRow, [sha256: string]>(
  'SELECT sha256, bytes, pieces FROM offloaded_objects WHERE sha256 = ?',
);

/** The condition that a copy may become the only place of an object: not one into which readers look, if it is withheld. */
const mayKeepSql = (digest: string, pages: string) => `NOT (${pages} = 1 AND ${isWithheldSql(digest)})`;

/** Returns whether another copy, which may be the only place of an object, was found to hold it. */
export const isCheckedElsewhere = hasRow<[values: { copy: string; sha256: string }]>(
  `SELECT 1 FROM copies k CROSS JOIN copied_objects c ON c.copy = k.id AND c.sha256 = $sha256
   WHERE k.id <> $copy AND c.checked_at IS NOT NULL AND ${mayKeepSql('$sha256', 'k.pages')}`,
);

/**
 * Records that an object may be offloaded. Returns false, and does nothing, if the copy no longer holds it or may not be
 * its only place, or it is recorded as damaged or was given up.
 */
export function insertOffloaded(
  database: WriteDatabase,
  copy: string,
  object: OffloadedRow & { at: string },
): boolean {
  return insertRow(database, { ...object, copy }) > 0;
}

const insertRow = change<[object: OffloadedRow & { at: string; copy: string }]>(`
  INSERT INTO offloaded_objects (sha256, bytes, pieces, offloaded_at)
  SELECT $sha256, $bytes, $pieces, $at
  WHERE EXISTS (SELECT 1 FROM copied_objects JOIN copies ON id = copy
      WHERE copy = $copy AND sha256 = $sha256 AND ${mayKeepSql('$sha256', 'pages')})
    AND NOT EXISTS (SELECT 1 FROM damaged_objects WHERE sha256 = $sha256)
    AND NOT ${isReleasedSql('$sha256')}
  ON CONFLICT DO NOTHING`);

/** How many of the offloaded objects a copy holds. */
export interface OffloadedObjects {
  target: string;
  objects: number;
}

/** Returns how many of the offloaded objects each copy holds; an object can be in several. */
export const offloadedByCopy = selectAll<OffloadedObjects>(`
  SELECT c.target, count(*) AS objects FROM offloaded_objects o
  JOIN copied_objects p ON p.sha256 = o.sha256 JOIN copies c ON c.id = p.copy
  WHERE o.is_removed = 1 GROUP BY c.id ORDER BY c.added_at, c.id`);

export function setRemoved(database: WriteDatabase, digests: readonly string[]): void {
  for (const sha256 of digests) setOneRemoved(database, sha256);
}

const setOneRemoved = change<[sha256: string]>(
  'UPDATE offloaded_objects SET is_removed = 1 WHERE sha256 = ?',
);

/** Returns objects that may be offloaded and whose local file was not deleted yet. */
export const notRemoved = selectValues<string, [limit: number]>(
  'SELECT sha256 FROM offloaded_objects WHERE is_removed = 0 ORDER BY sha256 LIMIT ?',
);

/** Records that an object is on this disk again. */
export const forgetOffloaded = change<[sha256: string]>('DELETE FROM offloaded_objects WHERE sha256 = ?');

/** Returns offloaded objects, after a digest, in order. */
export const offloadedAfter = selectValues<string, [after: string, limit: number]>(
  'SELECT sha256 FROM offloaded_objects WHERE sha256 > ? ORDER BY sha256 LIMIT ?',
);

/** Offloaded objects, are not known to be lost, and that only the given copy may hold. */
const ONLY_IN = `FROM offloaded_objects o
   WHERE NOT EXISTS (SELECT 1 FROM damaged_objects d WHERE d.sha256 = o.sha256) AND NOT EXISTS
     (SELECT 1 FROM copies k CROSS JOIN copied_objects c ON c.copy = k.id AND c.sha256 = o.sha256
      WHERE k.id <> ?)`;

/** Returns the number of offloaded objects that are not known to be lost and that only this copy may hold. */
export const objectsOnlyIn = selectValue<number, [copy: string]>(`SELECT count(*) AS count ${ONLY_IN}`, 0);

/** Returns a page of these objects after a digest, in order. */
export const onlyInAfter = selectAll<
  { sha256: string; bytes: number },
  [copy: string, after: string, limit: number]
>(`SELECT o.sha256, o.bytes ${ONLY_IN} AND o.sha256 > ? ORDER BY o.sha256 LIMIT ?`);

/** Returns the copies that are known to hold an object. */
export const copiesHolding = selectValues<string, [sha256: string]>(
  'SELECT copy FROM copies CROSS JOIN copied_objects ON copy = id AND sha256 = ? ORDER BY target, copy',
);

/** Returns one object for each set of copies that hold some of the first 1,000 offloaded ones: all would take seconds. */
export const offloadedExamples = selectValues<string, []>(`
  SELECT min(sha256) FROM (
    SELECT o.sha256, (SELECT group_concat(k.id) FROM copies k
        CROSS JOIN copied_objects c ON c.copy = k.id AND c.sha256 = o.sha256) AS held
    FROM offloaded_objects o WHERE o.is_removed = 1 LIMIT 1000)
  GROUP BY held`);

/** A page of the blobs in the order of their digests: the bytes on this disk by the day on which they were stored. */
interface LocalPage {
  /** The last digest of the page; undefined after the last page. */
  last: string | undefined;
  days: { day: string; bytes: number }[];
}

export function localBytesByDay(database: ReadDatabase, after: string, limit: number): LocalPage {
  const rows = storedAfter(database, after, limit);
  const days = new Map<string, number>();
  for (const { day, bytes, offloaded } of rows) if (!offloaded) days.set(day, (days.get(day) ?? 0) + bytes);
  return { last: rows.at(-1)?.sha256, days: [...days].map(([day, bytes]) => ({ day, bytes })) };
}

const storedAfter = selectAll<
  { sha256: string; bytes: number; day: string; offloaded: number },
  [after: string, limit: number]
>(`
  SELECT b.sha256, b.bytes, substr(b.stored_at, 1, 10) AS day,
    EXISTS (SELECT 1 FROM offloaded_objects o WHERE o.sha256 = b.sha256) OR ${isReleasedSql('b.sha256')} AS offloaded
  FROM blobs b WHERE b.sha256 > ? ORDER BY b.sha256 LIMIT ?`);

/** Which objects may be offloaded. */
export interface OffloadRule {
  /** Stored at this time or before (RFC 3339). */
  storedUntil: string;
  /** Read back from a copy at this time or after. */
  checkedSince: string;
}

/** An object that may be offloaded, and a copy that was read back. */
export interface Candidate {
  sha256: string;
  bytes: number;
  copy: string;
}

/** A page of the blobs in the order of their digests: those that may be offloaded. */
interface CandidatePage {
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
  const rows = checkedAfter(database, storedUntil, checkedSince, after, limit);
  const candidates = rows.flatMap(({ copy, ...row }) => (copy === null ? [] : [{ ...row, copy }]));
  return { last: rows.at(-1)?.sha256, candidates };
}

const checkedAfter = selectAll<
  { sha256: string; bytes: number; copy: string | null },
  [storedUntil: string, checkedSince: string, after: string, limit: number]
>(`
  SELECT b.sha256, b.bytes, CASE WHEN b.stored_at <= ? AND b.bytes > 0
      AND NOT EXISTS (SELECT 1 FROM offloaded_objects o WHERE o.sha256 = b.sha256)
      AND NOT EXISTS (SELECT 1 FROM damaged_objects d WHERE d.sha256 = b.sha256)
      AND NOT ${isReleasedSql('b.sha256')}
    THEN (SELECT c.copy FROM copies k CROSS JOIN copied_objects c ON c.copy = k.id AND c.sha256 = b.sha256
      WHERE c.checked_at >= ? AND ${mayKeepSql('b.sha256', 'k.pages')} ORDER BY c.checked_at DESC LIMIT 1) END AS copy
  FROM blobs b WHERE b.sha256 > ? ORDER BY b.sha256 LIMIT ?`);
