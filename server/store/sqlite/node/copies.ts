import type { RestoreDrill } from '../../../../shared/node/copy.ts';
import type { ReadDatabase, WriteDatabase } from '../engine/open.ts';
import {
  change,
  countRows,
  hasRow,
  inserts,
  selectAll,
  selectOne,
  selectValue,
  selectValues,
  updates,
} from '../engine/queries.ts';
import { isAbsentSql } from './peers.ts';
import { isReleasedSql, isWithheldSql } from './withheld.ts';

/** A copy of the archive, as the database knows it. */
export interface CopyRow {
  id: string;
  target: string;
  endpoint: string | null;
  region: string | null;
  every_minutes: number | null;
  /** The random token by which the copy knows this data folder. */
  owner_token: string;
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
  /** Whether all its files are known, and listed in it: 1 or 0. */
  is_listed: number;
  /** The size of the checkpoint that was sent last, or was about to be; null if it is not known. */
  sending_size: number | null;
  /** Whether a sync sent something, or was about to, and did not end: 1 or 0. */
  is_sending: number;
  /** The recipient whose identity its file of the key has; null if none. */
  kept_recipient: string | null;
  /** How many withheld objects it had in the clear and no longer has. */
  withheld_cleaned: number;
  /** The last restore drill (`RestoreDrill`), and the last that succeeded, as JSON; null if there was none. */
  last_drill: string | null;
  proven_drill: string | null;
  /** When the drills began to fail for the reason of the last one; null if it succeeded. */
  drill_failing_since: string | null;
}

export const insertCopy = inserts<
  Pick<
    CopyRow,
    | 'id'
    | 'target'
    | 'endpoint'
    | 'region'
    | 'every_minutes'
    | 'owner_token'
    | 'added_at'
    | 'pages'
    | 'public_url'
  >
>('copies', 'id, target, endpoint, region, every_minutes, owner_token, added_at, pages, public_url');

/** Returns all copies, oldest first. */
export const allCopies = selectAll<CopyRow>('SELECT * FROM copies ORDER BY added_at, id');

export const copyById = selectOne<CopyRow, [id: string]>('SELECT * FROM copies WHERE id = ?');

export const copyAt = selectOne<CopyRow, [target: string, endpoint: string | null]>(
  'SELECT * FROM copies WHERE target = ? AND endpoint IS ?',
);

/** Forgets a copy, and the offloaded objects that are recorded as damaged and that no copy holds. */
export function deleteCopy(database: WriteDatabase, id: string): void {
  removeCopy(database, id);
  forgetLostObjects(database);
}

const removeCopy = change<[id: string]>('DELETE FROM copies WHERE id = ?');
const forgetLostObjects = change(`
  DELETE FROM offloaded_objects WHERE sha256 IN (SELECT sha256 FROM damaged_objects)
    AND NOT EXISTS (SELECT 1 FROM copies k CROSS JOIN copied_objects c
      ON c.copy = k.id AND c.sha256 = offloaded_objects.sha256)`);

/** Records a finished sync, which sent the changes of cases that were counted when it began. */
export function setSynced(
  database: WriteDatabase,
  { id, case_changes }: Pick<CopyRow, 'id' | 'case_changes'>,
  synced: Synced,
): void {
  updateSynced(database, { id, case_changes, ...synced });
}

interface Synced {
  size: number;
  proofs: string;
  state: string | null;
  at: string;
}

const updateSynced = change<[Synced & Pick<CopyRow, 'id' | 'case_changes'>]>(`
  UPDATE copies SET synced_size = $size, synced_proofs = $proofs, synced_state = $state, synced_at = $at,
    last_error = NULL, case_changes = max(0, case_changes - $case_changes) WHERE id = $id`);

/** What the owner chooses of a copy. */
type CopySettings = Pick<CopyRow, 'every_minutes' | 'endpoint' | 'region' | 'pages' | 'public_url'>;

/** Changes the given settings of a copy. If its pages change, all of them are written again. */
export function changeCopySettings(database: WriteDatabase, id: string, change: Partial<CopySettings>): void {
  const before = copyById(database, id);
  if (!before) return;
  const after = { ...before, ...change };
  if (after.pages !== before.pages || after.public_url !== before.public_url) after.pages_version = 0;
  updateSettings(database, after);
}

const updateSettings = updates<CopyRow>('copies', {
  key: 'id',
  columns: 'every_minutes, endpoint, region, pages, public_url, pages_version',
});

/** Records what the pages of a copy show. */
export const setPagesSize = updates<Pick<CopyRow, 'id' | 'pages_size' | 'pages_version'>>('copies', {
  key: 'id',
  columns: 'pages_size, pages_version',
});

export const setChecked = change<[check: { id: string; at: string }]>(
  'UPDATE copies SET checked_at = $at, last_error = NULL WHERE id = $id',
);

/** Records the digest of the file of the state that a check has sent again. */
export const setSyncedState = updates<Pick<CopyRow, 'id' | 'synced_state'>>('copies', {
  key: 'id',
  columns: 'synced_state',
});

export const setCopyError = updates<Pick<CopyRow, 'id' | 'last_error'>>('copies', {
  key: 'id',
  columns: 'last_error',
});

/** Records whose private key a copy holds, and the recipient whose identity is with it; null if it holds none. */
export function setKeptKey(
  database: WriteDatabase,
  id: string,
  verifierKey: string | null,
  recipient: string | null = null,
): void {
  updateKeptKey(database, { id, kept_key: verifierKey, kept_recipient: recipient });
}

const updateKeptKey = updates<{ id: string; kept_key: string | null; kept_recipient: string | null }>(
  'copies',
  {
    key: 'id',
    columns: 'kept_key, kept_recipient',
  },
);

/** Returns whether a copy holds the key that decrypts sealed findings. */
export function holdsWithheldKey({ kept_recipient }: CopyRow): boolean {
  return kept_recipient !== null;
}

/** Records that everything in a copy was read back since a time. */
export const setReadBack = updates<Pick<CopyRow, 'id' | 'read_back_at'>>('copies', {
  key: 'id',
  columns: 'read_back_at',
});

/** Records a restore drill. Drills that fail for the same reason in a row are one failure. */
export function setDrilled(database: WriteDatabase, id: string, drill: RestoreDrill): void {
  updateDrilled(database, { id, json: JSON.stringify(drill), outcome: drill.outcome, at: drill.at });
}

const updateDrilled = change<[drill: { id: string; json: string; outcome: string; at: string }]>(`
  UPDATE copies SET last_drill = $json,
    proven_drill = iif($outcome = 'restored', $json, proven_drill),
    drill_failing_since = CASE
      WHEN $outcome = 'restored' THEN NULL
      WHEN last_drill ->> 'outcome' = $outcome THEN coalesce(drill_failing_since, $at)
      ELSE $at END
  WHERE id = $id`);

/** Returns whether a copy is known to hold an object. */
export const isCopied = hasRow<[copy: string, sha256: string]>(
  'SELECT 1 FROM copied_objects WHERE copy = ? AND sha256 = ?',
);

export function insertCopiedObjects(database: WriteDatabase, copy: string, digests: readonly string[]): void {
  for (const sha256 of digests) {
    deleteLeftOut(database, copy, sha256);
    insertCopied(database, copy, sha256);
  }
}

const deleteLeftOut = change<[copy: string, sha256: string]>(
  'DELETE FROM left_out_objects WHERE copy = ? AND sha256 = ?',
);
const insertCopied = change<[copy: string, sha256: string]>(
  'INSERT INTO copied_objects (copy, sha256) VALUES (?, ?) ON CONFLICT DO NOTHING',
);

/** Forgets what a copy holds and lacks, so that the next sync sends everything that is not there. */
export function forgetCopiedObjects(database: WriteDatabase, copy: string): void {
  deleteAllCopied(database, copy);
  deleteAllLeftOut(database, copy);
}

const deleteAllCopied = change<[copy: string]>('DELETE FROM copied_objects WHERE copy = ?');
const deleteAllLeftOut = change<[copy: string]>('DELETE FROM left_out_objects WHERE copy = ?');

/** Returns up to `limit` objects of a copy after a digest, in order. */
export const copiedObjectsAfter = selectValues<string, [copy: string, after: string, limit: number]>(
  'SELECT sha256 FROM copied_objects WHERE copy = ? AND sha256 > ? ORDER BY sha256 LIMIT ?',
);

export const countCopiedObjects = countRows<[copy: string]>('copied_objects WHERE copy = ?');

/** Returns the objects of a copy that were checked longest ago, never checked ones first. */
export const leastRecentlyChecked = selectValues<string, [copy: string, limit: number]>(
  'SELECT sha256 FROM copied_objects WHERE copy = ? ORDER BY checked_at NULLS FIRST, sha256 LIMIT ?',
);

export function setObjectsChecked(
  database: WriteDatabase,
  copy: string,
  digests: readonly string[],
  at: string,
): void {
  for (const sha256 of digests) setObjectChecked(database, at, copy, sha256);
}

const setObjectChecked = change<[at: string, copy: string, sha256: string]>(
  'UPDATE copied_objects SET checked_at = ? WHERE copy = ? AND sha256 = ?',
);

/** Records that an object was read back from a copy and was not intact. */
export const setObjectUnchecked = change<[copy: string, sha256: string]>(
  'UPDATE copied_objects SET checked_at = NULL WHERE copy = ? AND sha256 = ?',
);

/** Returns when an object was last read back from a copy; null if never, undefined if the copy does not hold it. */
export const objectCheckedAt = selectOne<
  { checked_at: string | null },
  [copy: string, sha256: string],
  string | null
>('SELECT checked_at FROM copied_objects WHERE copy = ? AND sha256 = ?', ({ checked_at }) => checked_at);

/*
 * What a copy holds of withheld and released objects, and what it lacks: an object that it holds is a row of
 * `copied_objects`, one that its records name and that was not sent is a row of `left_out_objects`.
 */

const isCopiedSql = (digest: string) =>
  `EXISTS (SELECT 1 FROM copied_objects c WHERE c.copy = $copy AND c.sha256 = ${digest})`;
/** The condition that the bytes of an object are here, as far as is known. */
const isHereSql = (digest: string) =>
  `NOT EXISTS (SELECT 1 FROM damaged_objects d WHERE d.sha256 = ${digest})
    AND NOT ${isReleasedSql(digest)} AND NOT ${isAbsentSql(digest)}`;

type Page = [values: { copy: string; after: string; limit: number }];

/** Returns all withheld objects that were not given up, in order. */
export const withheldDigests = selectValues<string, [values: { after: string; limit: number }]>(`
  SELECT DISTINCT o.sha256 FROM withheld_objects o
  WHERE o.sha256 > $after AND NOT ${isReleasedSql('o.sha256')} ORDER BY o.sha256 LIMIT $limit`);

/** Returns withheld objects that a copy has, in order. */
export const withheldInTheClear = selectValues<string, Page>(`
  SELECT DISTINCT o.sha256 FROM withheld_objects o
  WHERE o.sha256 > $after AND ${isCopiedSql('o.sha256')} AND NOT ${isReleasedSql('o.sha256')}
  ORDER BY o.sha256 LIMIT $limit`);

/** Returns the number of withheld objects that a copy has. */
export const countWithheldInTheClear = selectValue<number, [values: { copy: string }]>(
  `SELECT count(DISTINCT o.sha256) FROM withheld_objects o
   WHERE ${isCopiedSql('o.sha256')} AND NOT ${isReleasedSql('o.sha256')}`,
  0,
);

/** Returns released objects that a copy has, in order. */
export const releasedInTheClear = selectValues<string, Page>(`
  SELECT r.sha256 FROM releases r WHERE r.sha256 > $after AND ${isCopiedSql('r.sha256')}
  ORDER BY r.sha256 LIMIT $limit`);

export const isAnyReleasedInTheClear = hasRow<[values: { copy: string }]>(
  `SELECT 1 FROM releases r WHERE ${isCopiedSql('r.sha256')} LIMIT 1`,
);

const LEFT_OUT = 'left_out_objects l WHERE l.copy = $copy';

/** Returns the objects that a copy lacks, in order, without those that are damaged here, were given up or never came. */
export const leftOutObjects = selectValues<string, Page>(`
  SELECT l.sha256 FROM ${LEFT_OUT} AND l.sha256 > $after AND ${isHereSql('l.sha256')}
  ORDER BY l.sha256 LIMIT $limit`);

export const isAnyLeftOut = hasRow<[values: { copy: string }]>(
  `SELECT 1 FROM ${LEFT_OUT} AND ${isHereSql('l.sha256')} LIMIT 1`,
);

/** Returns the number of withheld objects that a copy lacks. */
export const countWithheldLeftOut = selectValue<number, [values: { copy: string }]>(
  `SELECT count(*) FROM ${LEFT_OUT} AND ${isWithheldSql('l.sha256')} AND NOT ${isReleasedSql('l.sha256')}`,
  0,
);

/** Returns the number of withheld objects that are here, and that neither a copy nor any other has. */
export const countInNoCopy = selectValue<number, [values: { copy: string }]>(
  `SELECT count(*) FROM ${LEFT_OUT} AND ${isWithheldSql('l.sha256')} AND ${isHereSql('l.sha256')}
    AND NOT EXISTS (SELECT 1 FROM copies k CROSS JOIN copied_objects c ON c.copy = k.id AND c.sha256 = l.sha256)`,
  0,
);

/** Records that a copy lacks objects that its records name. */
export function leaveOut(database: WriteDatabase, copy: string, digests: readonly string[]): void {
  for (const sha256 of digests) {
    deleteCopiedObject(database, copy, sha256);
    insertLeftOut(database, copy, sha256);
  }
}

const insertLeftOut = change<[copy: string, sha256: string]>(
  'INSERT INTO left_out_objects (copy, sha256) VALUES (?, ?) ON CONFLICT DO NOTHING',
);

/** Looks at `limit` blobs after a digest, so that no call takes long: which of them a copy is not known to hold. */
export const blobsNotCopied = selectAll<
  { sha256: string; isCopied: number },
  [values: { copy: string; after: string; limit: number }]
>(`SELECT b.sha256, ${isCopiedSql('b.sha256')} AS isCopied FROM blobs b
  WHERE b.sha256 > $after AND NOT ${isReleasedSql('b.sha256')} ORDER BY b.sha256 LIMIT $limit`);

export const isAnythingWithheld = hasRow<[]>('SELECT 1 FROM withheld_objects LIMIT 1');
const isAnythingReleased = hasRow<[]>('SELECT 1 FROM releases LIMIT 1');

/** Returns whether anything is withheld or was released. */
export function isAnythingUnreadable(database: ReadDatabase): boolean {
  return isAnythingWithheld(database) || isAnythingReleased(database);
}

/** Records that a copy no longer has an object. */
export const deleteCopiedObject = change<[copy: string, sha256: string]>(
  'DELETE FROM copied_objects WHERE copy = ? AND sha256 = ?',
);

/** Records that a sync begins to send. Until it has ended, the copy may hold more than is recorded. */
export const setSending = change<[values: { copy: string; isSending: 0 | 1 }]>(
  'UPDATE copies SET is_sending = $isSending WHERE id = $copy',
);

export const addCleaned = change<[values: { copy: string; objects: number }]>(
  'UPDATE copies SET withheld_cleaned = withheld_cleaned + $objects WHERE id = $copy',
);

/** Returns the keys of the sources of which a page capture has an object. */
export const sourcesOfPagesWith = selectValues<number, [sha256: string]>(
  'SELECT DISTINCT source_key FROM retrievals WHERE sha256 = ? AND part_of IS NOT NULL',
);
