import type { ExpiryReason, Profile, ProfileState } from '../../../../shared/collection/profile.ts';
import type { WriteDatabase } from '../engine/open.ts';
import {
  change,
  countRows,
  hasRow,
  inserts,
  selectAll,
  selectOne,
  selectPage,
  selectValue,
  updates,
} from '../engine/queries.ts';
import { countsForSql } from '../node/peerOrigins.ts';
import { isReleasedSql } from '../node/withheld.ts';

/** A profile with what only its key opens. */
export interface ProfileRow extends Omit<Profile, 'sources'> {
  sealed: Buffer;
  /** How often the owner replaced its content. */
  version: number;
}

/** What is shown of the content of a profile, and the content as it is stored. */
export type SealedContent = Pick<ProfileRow, 'sealed' | 'cookies' | 'storage_items' | 'expires_at'>;

const SHOWN = `id, name, site, cookies, storage_items, expires_at, created_at, replaced_at, state, last_used_at,
  expired_at, expired_reason, expired_source,
  (SELECT count(*) FROM sources WHERE sources.profile = profiles.id AND removed = 0) AS sources`;

/** Returns a page of the profiles, oldest first, without their content. */
export const profilesPage = selectPage<Profile>({
  columns: SHOWN,
  from: 'profiles',
  order: 'created_at, id',
});

export const shownProfile = selectOne<Profile, [id: string]>(`SELECT ${SHOWN} FROM profiles WHERE id = ?`);

export const profileById = selectOne<ProfileRow, [id: string]>('SELECT * FROM profiles WHERE id = ?');

export const countProfiles = countRows('profiles');

export const hasProfiles = hasRow('SELECT 1 FROM profiles LIMIT 1');

export const insertProfile = inserts<
  SealedContent & Pick<ProfileRow, 'id' | 'name' | 'site' | 'created_at' | 'state'>
>('profiles', 'id, name, site, sealed, cookies, storage_items, expires_at, created_at, state');

export const renameProfile = change<[values: { id: string; name: string }]>(
  'UPDATE profiles SET name = $name WHERE id = $id',
);

/** Stores the content that the owner gives in place of that before. The next check tries it. */
export function replaceContent(
  database: WriteDatabase,
  id: string,
  content: SealedContent,
  replaced_at: string,
): void {
  setReplaced(database, { ...content, id, replaced_at });
  setUntried(database, id);
  forgetRefusals(database, id);
  // What the old login was told has not changed may have changed for the new one.
  forgetValidators(database, id);
}

const setReplaced = updates<SealedContent & { id: string; replaced_at: string }>('profiles', {
  key: 'id',
  columns: 'sealed, cookies, storage_items, expires_at, replaced_at',
});
const setUntried = change<[id: string]>(`
  UPDATE profiles SET version = version + 1, state = 'untried', expired_at = NULL, expired_reason = NULL,
    expired_source = NULL WHERE id = ?`);
const forgetRefusals = change<[id: string]>('UPDATE sources SET login_expired_at = NULL WHERE profile = ?');
const forgetValidators = change<[id: string]>(
  'DELETE FROM validators WHERE source_key IN (SELECT key FROM sources WHERE profile = ?)',
);

/** Stores cookies that the site has set. */
export const updateContent = updates<SealedContent & { id: string }>('profiles', {
  key: 'id',
  columns: 'sealed, cookies, storage_items, expires_at',
});

/** Deletes a profile. The sources that name it still need a login, and have none. */
export function deleteProfile(database: WriteDatabase, id: string): boolean {
  clearProfile(database, id);
  return removeProfile(database, id) > 0;
}

const clearProfile = change<[id: string]>(
  'UPDATE sources SET profile = NULL, login_expired_at = NULL WHERE profile = ?',
);
const removeProfile = change<[id: string]>('DELETE FROM profiles WHERE id = ?');

export const markUnreadable = change<[id: string]>(
  "UPDATE profiles SET state = 'unreadable' WHERE id = ? AND state <> 'unreadable'",
);

/** Records that the site does not accept a profile for a source. The first source that notices it is named. */
export function markExpired(database: WriteDatabase, expiry: Expiry): void {
  noteRefusal(database, expiry);
  setExpired(database, expiry);
}

interface Expiry {
  profile: string;
  source: number;
  reason: ExpiryReason;
  at: string;
}

const noteRefusal = change<[Expiry]>(`
  UPDATE sources SET login_expired_at = coalesce(login_expired_at, $at) WHERE key = $source AND profile = $profile`);
const setExpired = change<[Expiry]>(`
  UPDATE profiles SET last_used_at = $at, expired_reason = CASE state WHEN 'expired' THEN expired_reason ELSE $reason END,
    expired_source = CASE state WHEN 'expired' THEN expired_source ELSE (SELECT id FROM sources WHERE key = $source) END,
    expired_at = CASE state WHEN 'expired' THEN expired_at ELSE $at END, state = 'expired'
  WHERE id = $profile AND EXISTS (SELECT 1 FROM sources WHERE key = $source AND profile = $profile)`);

/** Records that the site accepted a profile for a source. The profile works once it does for all its sources. */
export function markWorking(
  database: WriteDatabase,
  { profile, source, at }: { profile: string; source: number; at: string },
): void {
  forgetRefusal(database, source);
  setUsed(database, at, profile);
  setWorking(database, { profile });
}

const NONE_EXPIRED = `NOT EXISTS (SELECT 1 FROM sources
  WHERE sources.profile = $profile AND removed = 0 AND login_expired_at IS NOT NULL)`;

const forgetRefusal = change<[source: number]>(
  'UPDATE sources SET login_expired_at = NULL WHERE key = ? AND login_expired_at IS NOT NULL',
);
const setUsed = change<[at: string, id: string]>('UPDATE profiles SET last_used_at = ? WHERE id = ?');
const setWorking = change<[{ profile: string }]>(`
  UPDATE profiles SET state = 'works', expired_at = NULL, expired_reason = NULL, expired_source = NULL
  WHERE id = $profile AND state <> 'works' AND ${NONE_EXPIRED}`);

/** Ends the expiry of a profile if the sources that noticed it no longer name it: whether it works is unknown then. */
export const forgetExpiry = change<[{ profile: string }]>(`
  UPDATE profiles SET state = 'untried', expired_at = NULL, expired_reason = NULL, expired_source = NULL
  WHERE id = $profile AND state = 'expired' AND ${NONE_EXPIRED}`);

/** A profile that no longer works. */
interface ExpiredProfile {
  id: string;
  name: string;
  site: string;
  expired_at: string;
  expired_reason: ExpiryReason;
}

/** Returns the profiles that no longer work, longest first. */
export const expiredProfiles = selectAll<ExpiredProfile>(`
  SELECT id, name, site, expired_at, expired_reason FROM profiles
  WHERE state = 'expired' ORDER BY expired_at, id`);

export const profileState = selectValue<ProfileState, [id: string]>(
  'SELECT state FROM profiles WHERE id = ?',
);

/**
 * Whether an object was withheld when a source first got it with a login, by a retrieval of this source. The owner may
 * have shown it since, which is not undone when the source gets it again.
 */
export const wasWithheldForLogin = hasRow<[asked: { sha256: string; source: number }]>(`
  SELECT 1 FROM retrievals r JOIN withholdings w ON w.retrieval = r.id
  WHERE r.sha256 = $sha256 AND r.source_key = $source AND w.reason = 'login' LIMIT 1`);

/** The condition that a retrieval of a page brought a digest, or that the page sent it then. */
const hasDigest = (part: string, digest: string) =>
  `${digest} IN (${part}.sha256, ${part}.request -> 'body' ->> 'sha256')`;

/**
 * The condition that a digest is withheld for itself, or with a page that has it itself. What is withheld only with the
 * document, or with another page of it, would be shown with these.
 */
const isWithheldAlone = (digest: string) => `EXISTS (SELECT 1 FROM withheld_objects o
  JOIN withholdings w ON w.ledger_entry = o.withholding WHERE o.sha256 = ${digest} AND (w.sha256 = ${digest}
    OR EXISTS (SELECT 1 FROM retrievals own WHERE own.part_of = w.page AND ${hasDigest('own', digest)})))`;

/** What the owner has shown of the pages of a source, and by its digest, that was withheld for a login. */
const SHOWN_FOR_LOGIN = `
  shown_withholdings AS (SELECT w.sha256, w.page FROM showings s CROSS JOIN withholdings w ON w.ledger_entry = s.withheld
    WHERE w.reason = 'login'),
  shown_parts AS (SELECT part.sha256, part.request FROM shown_withholdings w
    CROSS JOIN retrievals part ON part.part_of = w.page
    WHERE +part.source_key = (SELECT source_key FROM page_captures WHERE id = $page)),
  shown (sha256) AS MATERIALIZED (
    SELECT sha256 FROM shown_withholdings WHERE sha256 IS NOT NULL
    UNION SELECT sha256 FROM shown_parts WHERE sha256 IS NOT NULL
    UNION SELECT request -> 'body' ->> 'sha256' FROM shown_parts WHERE request -> 'body' ->> 'sha256' IS NOT NULL)`;

/**
 * Returns what a page drawn with a login showed, was answered and has sent, and what visitors could read of it once its
 * document is shown: neither withheld without it nor given up, not what the owner has shown of an earlier page of this
 * source, and no answer that other sources have.
 */
export const openPartsOfPage = selectAll<{ sha256: string; is_output: number }, [page: { page: string }]>(`
  WITH ${SHOWN_FOR_LOGIN}
  SELECT part.digest AS sha256, max(part.is_output) AS is_output FROM (
    SELECT r.sha256 AS digest, r.status IS NULL AS is_output FROM retrievals r
    WHERE r.part_of = $page AND r.sha256 IS NOT NULL AND (r.status IS NULL OR NOT EXISTS (
      SELECT 1 FROM retrievals other WHERE other.sha256 = r.sha256 AND other.source_key <> r.source_key
        AND ${countsForSql('other', 'r')}))
    UNION ALL SELECT r.request -> 'body' ->> 'sha256', 0 FROM retrievals r WHERE r.part_of = $page
  ) AS part
  WHERE part.digest IS NOT NULL AND NOT ${isWithheldAlone('part.digest')} AND NOT ${isReleasedSql('part.digest')}
    AND part.digest NOT IN (SELECT sha256 FROM shown)
  GROUP BY part.digest`);
