import type { ReadDatabase, WriteDatabase } from '../engine/open.ts';
import { change, hasRow, run, selectValue, selectValues } from '../engine/queries.ts';
import { isAbsentSql } from './peerWithholdings.ts';
import { isReleasedSql, isWithheldSql } from './withheld.ts';

/*
 * What a copy holds of withheld and released objects. An object in the clear is a row of `copied_objects`; an encrypted one
 * is a file of the copy like any other, below `withheld/`.
 */

/** The files of a copy below `withheld/`. The condition on the path is that of the index. */
const ENCRYPTED = `copied_files f WHERE f.copy = $copy AND f.path GLOB 'withheld/*' AND f.state <> 'gone'`;
const DIGEST_OF_PATH = 'substr(f.path, 10, 64)';
/** The condition that the copy has an object encrypted. @param digest an SQL expression */
const isEncryptedSql = (digest: string) =>
  `EXISTS (SELECT 1 FROM ${ENCRYPTED} AND f.path = 'withheld/' || ${digest} || '.age')`;
const isClearSql = (digest: string) =>
  `EXISTS (SELECT 1 FROM copied_objects c WHERE c.copy = $copy AND c.sha256 = ${digest})`;
const isIntactSql = (digest: string) =>
  `NOT EXISTS (SELECT 1 FROM damaged_objects d WHERE d.sha256 = ${digest})`;

type Page = [values: { copy: string; after: string; limit: number }];

/**
 * Returns withheld objects that a copy does not have encrypted, in order, without those that are damaged here or never
 * came.
 */
export const notEncrypted = selectValues<string, Page>(`
  SELECT DISTINCT o.sha256 FROM withheld_objects o
  WHERE o.sha256 > $after AND NOT ${isEncryptedSql('o.sha256')} AND NOT ${isReleasedSql('o.sha256')}
    AND ${isIntactSql('o.sha256')} AND NOT ${isAbsentSql('o.sha256')} ORDER BY o.sha256 LIMIT $limit`);

/** Returns withheld objects that a copy has in the clear although it has them encrypted, in order. */
export const toRemove = selectValues<string, Page>(`
  SELECT DISTINCT o.sha256 FROM withheld_objects o
  WHERE o.sha256 > $after AND ${isClearSql('o.sha256')} AND ${isEncryptedSql('o.sha256')}
    ORDER BY o.sha256 LIMIT $limit`);

/** Returns withheld objects that a copy has in the clear, in order. */
export const withheldInTheClear = selectValues<string, Page>(`
  SELECT DISTINCT o.sha256 FROM withheld_objects o
  WHERE o.sha256 > $after AND ${isClearSql('o.sha256')} ORDER BY o.sha256 LIMIT $limit`);

/** Returns released objects that a copy has in the clear, in order. */
export const releasedInTheClear = selectValues<string, Page>(`
  SELECT r.sha256 FROM releases r WHERE r.sha256 > $after AND ${isClearSql('r.sha256')}
  ORDER BY r.sha256 LIMIT $limit`);

export const isAnyReleasedInTheClear = hasRow<[values: { copy: string }]>(
  `SELECT 1 FROM releases r WHERE ${isClearSql('r.sha256')} LIMIT 1`,
);

/** Returns objects that a copy has encrypted and that are no longer withheld, those that were released included. */
export const noLongerWithheld = selectValues<string, Page>(`
  SELECT ${DIGEST_OF_PATH} FROM ${ENCRYPTED} AND ${DIGEST_OF_PATH} > $after
    AND (NOT ${isWithheldSql(DIGEST_OF_PATH)} OR ${isReleasedSql(DIGEST_OF_PATH)})
  ORDER BY f.path LIMIT $limit`);

/** Returns the number of objects that a copy has encrypted. */
export const countEncrypted = selectValue<number, [values: { copy: string }]>(
  `SELECT count(*) FROM ${ENCRYPTED}`,
  0,
);

/** Returns the number of withheld objects that a copy has in the clear. */
export const countWithheldInTheClear = selectValue<number, [values: { copy: string }]>(
  `SELECT count(DISTINCT o.sha256) FROM withheld_objects o WHERE ${isClearSql('o.sha256')}`,
  0,
);

export const isEncrypted = hasRow<[values: { copy: string; sha256: string }]>(
  `SELECT 1 WHERE ${isEncryptedSql('$sha256')}`,
);

export const isAnythingWithheld = hasRow<[]>('SELECT 1 FROM withheld_objects LIMIT 1');
const isAnythingReleased = hasRow<[]>('SELECT 1 FROM releases LIMIT 1');

/** Returns whether anything is withheld or was released. */
export function isAnythingUnreadable(database: ReadDatabase): boolean {
  return isAnythingWithheld(database) || isAnythingReleased(database);
}

/** Records that a copy no longer has an object in the clear. */
export const deleteCopiedObject = change<[copy: string, sha256: string]>(
  'DELETE FROM copied_objects WHERE copy = ? AND sha256 = ?',
);

/** Records that a sync begins to send. Until it has ended, the copy may hold more than is recorded. */
export const setSending = change<[values: { copy: string; isSending: 0 | 1 }]>(
  'UPDATE copies SET is_sending = $isSending WHERE id = $copy',
);

export function addCleaned(database: WriteDatabase, copy: string, objects: number): void {
  run(database, 'UPDATE copies SET withheld_cleaned = withheld_cleaned + ? WHERE id = ?', objects, copy);
}

/** Returns objects that a copy has encrypted, in order. Those that are damaged here are not among them. */
export const encryptedObjects = selectValues<string, Page>(`
  SELECT ${DIGEST_OF_PATH} FROM ${ENCRYPTED} AND ${DIGEST_OF_PATH} > $after AND ${isIntactSql(DIGEST_OF_PATH)}
  ORDER BY f.path LIMIT $limit`);

/** Records to whom the encrypted objects of a copy are encrypted. */
export const setRecipient = change<[values: { copy: string; recipient: string }]>(
  'UPDATE copies SET recipient = $recipient WHERE id = $copy',
);

/** Returns the keys of the sources of which a page capture has an object. */
export const sourcesOfPagesWith = selectValues<number, [sha256: string]>(
  'SELECT DISTINCT source_key FROM retrievals WHERE sha256 = ? AND part_of IS NOT NULL',
);
