import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

/** A copy of the archive, as the database knows it. */
export interface CopyRow {
  id: string;
  target: string;
  endpoint: string | null;
  region: string | null;
  every_minutes: number | null;
  /** The word by which the copy knows this data folder. */
  writer: string;
  added_at: string;
  /** The size of the ledger in the copy's last checkpoint; 0 if it has none. */
  synced_size: number;
  /** The timestamps and cosignatures that the copy has, as `proofsState` describes them. */
  synced_proofs: string;
  /** The digest of the file of the state that the copy has; null if it is not known. */
  synced_state: string | null;
  synced_at: string | null;
  checked_at: string | null;
  /** When the last complete check began. */
  read_back_at: string | null;
  /** The verifier key whose private key the copy holds, encrypted. */
  kept_key: string | null;
  last_error: string | null;
  /** Whether the owner wants pages for readers in it: 1 or 0. */
  pages: number;
  /** Where readers find the pages. */
  public_url: string | null;
  /** The size of the ledger that the pages show; 0 if they are to be written anew. */
  pages_size: number;
  /** The version of the pages' design. */
  pages_version: number;
  /** How often cases were changed since the last sync. */
  case_changes: number;
}

export function insertCopy(
  database: WriteDatabase,
  copy: Pick<
    CopyRow,
    'id' | 'target' | 'endpoint' | 'region' | 'every_minutes' | 'writer' | 'added_at' | 'pages' | 'public_url'
  >,
): void {
  statement(
    database,
    `INSERT INTO copies (id, target, endpoint, region, every_minutes, writer, added_at, pages, public_url)
     VALUES (@id, @target, @endpoint, @region, @every_minutes, @writer, @added_at, @pages, @public_url)`,
  ).run(copy);
}

/** Returns all copies, oldest first. */
export function allCopies(database: ReadDatabase): CopyRow[] {
  return statement<CopyRow>(database, 'SELECT * FROM copies ORDER BY added_at, id').all();
}

export function copyById(database: ReadDatabase, id: string): CopyRow | undefined {
  return statement<CopyRow>(database, 'SELECT * FROM copies WHERE id = ?').get(id);
}

export function copyAt(database: ReadDatabase, target: string, endpoint: string | null): CopyRow | undefined {
  return statement<CopyRow>(database, 'SELECT * FROM copies WHERE target = ? AND endpoint IS ?').get(
    target,
    endpoint,
  );
}

/** Forgets a copy, and that objects have left this disk for it that are recorded as damaged and that no copy holds. */
export function deleteCopy(database: WriteDatabase, id: string): void {
  statement(database, 'DELETE FROM copies WHERE id = ?').run(id);
  statement(
    database,
    `DELETE FROM offloaded_objects WHERE sha256 IN (SELECT sha256 FROM damaged_objects)
       AND NOT EXISTS (SELECT 1 FROM copies k CROSS JOIN copied_objects c
         ON c.copy = k.id AND c.sha256 = offloaded_objects.sha256)`,
  ).run();
}

/** Records a finished sync, which sent the changes of cases that were counted when it began. */
export function setSynced(
  database: WriteDatabase,
  { id, case_changes }: Pick<CopyRow, 'id' | 'case_changes'>,
  synced: { size: number; proofs: string; state: string | null; at: string },
): void {
  statement(
    database,
    `UPDATE copies SET synced_size = $size, synced_proofs = $proofs, synced_state = $state, synced_at = $at,
       last_error = NULL, case_changes = max(0, case_changes - $case_changes) WHERE id = $id`,
  ).run({ id, case_changes, ...synced });
}

/** Changes how often a copy is synced, and how its store is reached. */
export function setCopyAddress(
  database: WriteDatabase,
  id: string,
  { every_minutes, endpoint, region }: Pick<CopyRow, 'every_minutes' | 'endpoint' | 'region'>,
): void {
  statement(database, 'UPDATE copies SET every_minutes = ?, endpoint = ?, region = ? WHERE id = ?').run(
    every_minutes,
    endpoint,
    region,
    id,
  );
}

/** Changes whether a copy has pages for readers, and where they are. All pages are written anew then. */
export function setPages(
  database: WriteDatabase,
  id: string,
  { pages, public_url }: Pick<CopyRow, 'pages' | 'public_url'>,
): void {
  statement(database, 'UPDATE copies SET pages = ?, public_url = ?, pages_version = 0 WHERE id = ?').run(
    pages,
    public_url,
    id,
  );
}

/** Records what the pages of a copy show. */
export function setPagesSize(database: WriteDatabase, id: string, size: number, version: number): void {
  statement(database, 'UPDATE copies SET pages_size = ?, pages_version = ? WHERE id = ?').run(
    size,
    version,
    id,
  );
}

export function setChecked(database: WriteDatabase, id: string, at: string): void {
  statement(database, 'UPDATE copies SET checked_at = ?, last_error = NULL WHERE id = ?').run(at, id);
}

/** Records the digest of the file of the state that a check has sent again. */
export function setSyncedState(database: WriteDatabase, id: string, sha256: string): void {
  statement(database, 'UPDATE copies SET synced_state = ? WHERE id = ?').run(sha256, id);
}

export function setCopyError(database: WriteDatabase, id: string, error: string): void {
  statement(database, 'UPDATE copies SET last_error = ? WHERE id = ?').run(error, id);
}

/** Records whose private key a copy holds; null if it holds none. */
export function setKeptKey(database: WriteDatabase, id: string, verifierKey: string | null): void {
  statement(database, 'UPDATE copies SET kept_key = ? WHERE id = ?').run(verifierKey, id);
}

/** Records that everything in a copy was read back since a time. */
export function setReadBack(database: WriteDatabase, id: string, since: string): void {
  statement(database, 'UPDATE copies SET read_back_at = ? WHERE id = ?').run(since, id);
}

/** Returns whether a copy is known to hold an object. */
export function isCopied(database: ReadDatabase, copy: string, sha256: string): boolean {
  return (
    statement(database, 'SELECT 1 FROM copied_objects WHERE copy = ? AND sha256 = ?').get(copy, sha256) !==
    undefined
  );
}

export function insertCopiedObjects(database: WriteDatabase, copy: string, digests: readonly string[]): void {
  const insert = statement(
    database,
    'INSERT INTO copied_objects (copy, sha256) VALUES (?, ?) ON CONFLICT DO NOTHING',
  );
  for (const sha256 of digests) insert.run(copy, sha256);
}

/** Forgets what a copy holds, so that the next sync sends everything that is not there. */
export function forgetCopiedObjects(database: WriteDatabase, copy: string): void {
  statement(database, 'DELETE FROM copied_objects WHERE copy = ?').run(copy);
}

/** Returns up to `limit` objects of a copy after a digest, in order. */
export function copiedObjectsAfter(
  database: ReadDatabase,
  copy: string,
  after: string,
  limit: number,
): string[] {
  return statement<{ sha256: string }>(
    database,
    'SELECT sha256 FROM copied_objects WHERE copy = ? AND sha256 > ? ORDER BY sha256 LIMIT ?',
  )
    .all(copy, after, limit)
    .map(({ sha256 }) => sha256);
}

export function countCopiedObjects(database: ReadDatabase, copy: string): number {
  return (
    statement<{ count: number }>(database, 'SELECT count(*) AS count FROM copied_objects WHERE copy = ?').get(
      copy,
    )?.count ?? 0
  );
}

/** Returns the objects of a copy that were checked longest ago, never checked ones first. */
export function leastRecentlyChecked(database: ReadDatabase, copy: string, limit: number): string[] {
  return statement<{ sha256: string }>(
    database,
    'SELECT sha256 FROM copied_objects WHERE copy = ? ORDER BY checked_at NULLS FIRST, sha256 LIMIT ?',
  )
    .all(copy, limit)
    .map(({ sha256 }) => sha256);
}

export function setObjectsChecked(
  database: WriteDatabase,
  copy: string,
  digests: readonly string[],
  at: string,
): void {
  const update = statement(
    database,
    'UPDATE copied_objects SET checked_at = ? WHERE copy = ? AND sha256 = ?',
  );
  for (const sha256 of digests) update.run(at, copy, sha256);
}

/** Records that an object was read back from a copy and was not intact. */
export function setObjectUnchecked(database: WriteDatabase, copy: string, sha256: string): void {
  statement(database, 'UPDATE copied_objects SET checked_at = NULL WHERE copy = ? AND sha256 = ?').run(
    copy,
    sha256,
  );
}

/** Returns when an object was last read back from a copy; null if never, undefined if the copy does not hold it. */
export function objectCheckedAt(
  database: ReadDatabase,
  copy: string,
  sha256: string,
): string | null | undefined {
  return statement<{ checked_at: string | null }>(
    database,
    'SELECT checked_at FROM copied_objects WHERE copy = ? AND sha256 = ?',
  ).get(copy, sha256)?.checked_at;
}
