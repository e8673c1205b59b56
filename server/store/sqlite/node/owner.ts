import type { Invitation } from '../../../../shared/node/owner.ts';
import type { ReadDatabase, WriteDatabase } from '../engine/open.ts';
import {
  change,
  countRows,
  inserts,
  selectAll,
  selectOne,
  selectPage,
  updates,
  upserts,
} from '../engine/queries.ts';

/** A session of a browser that is signed in as the owner. */
interface SessionRow {
  id: string;
  created_at: string;
  last_used_at: string;
  label: string;
}

/** Where a session was begun, and counts. */
export interface SessionPlace {
  /** The origin of the page. */
  origin: string;
  /** Behind plain HTTP the port at which the node listens, else 0. */
  port: number;
}

export const insertSession = inserts<SessionRow & SessionPlace & { public_key: string }>(
  'owner_sessions',
  'id, public_key, origin, port, created_at, last_used_at, label',
);

export const sessionById = selectOne<SessionRow, [id: string]>(
  'SELECT id, created_at, last_used_at, label FROM owner_sessions WHERE id = ?',
);

export const sessionByKey = selectOne<SessionRow & SessionPlace, [publicKey: string]>(
  'SELECT id, created_at, last_used_at, label, origin, port FROM owner_sessions WHERE public_key = ?',
);

/** Returns the sessions used since an instant, most recently used first, and their total number. */
export const sessionsUsedSince = selectPage<SessionRow, [since: string]>({
  columns: 'id, created_at, last_used_at, label',
  from: 'owner_sessions WHERE last_used_at >= ?',
  order: 'last_used_at DESC, created_at DESC, id',
});

export const recordSessionUse = updates<{ id: string; last_used_at: string }>('owner_sessions', {
  key: 'id',
  columns: 'last_used_at',
});

export const removeSessionByKey = change<[publicKey: string]>(
  'DELETE FROM owner_sessions WHERE public_key = ?',
);

/** Removes a session; returns whether it existed. */
export function removeSession(database: WriteDatabase, id: string): boolean {
  return deleteSession(database, id) > 0;
}
const deleteSession = change<[id: string]>('DELETE FROM owner_sessions WHERE id = ?');

export const removeSessionsUsedBefore = change<[before: string]>(
  'DELETE FROM owner_sessions WHERE last_used_at < ?',
);

/** Removes the sessions that were begun behind plain HTTP while the node listened at another port. */
export const removeSessionsElsewhere = change<[port: number]>(
  'DELETE FROM owner_sessions WHERE port NOT IN (0, ?)',
);

const COLUMNS = 'id, name, created_at, last_used_at, writes';

export const insertInvitation = change<
  [values: { id: string; name: string; tokenSha256: string; at: string }]
>('INSERT INTO invitations (id, name, token_sha256, created_at) VALUES ($id, $name, $tokenSha256, $at)');

/** Returns a page of invitations, newest first. */
export const invitations = selectAll<Invitation, [values: { limit: number; offset: number }]>(
  `SELECT ${COLUMNS} FROM invitations ORDER BY number DESC LIMIT $limit OFFSET $offset`,
);

export const invitationCount = countRows('invitations');

export const invitationById = selectOne<Invitation, [id: string]>(
  `SELECT ${COLUMNS} FROM invitations WHERE id = ?`,
);

export const invitationByToken = selectOne<Invitation, [tokenSha256: string]>(
  `SELECT ${COLUMNS} FROM invitations WHERE token_sha256 = ?`,
);

export const countInvitationUse = change<[use: { id: string; at: string }]>(
  'UPDATE invitations SET writes = writes + 1, last_used_at = $at WHERE id = $id',
);

/** Removes an invitation; returns whether it existed. */
export function removeInvitation(database: WriteDatabase, id: string): boolean {
  return deleteInvitation(database, id) > 0;
}
const deleteInvitation = change<[id: string]>('DELETE FROM invitations WHERE id = ?');

/** Returns the value of a setting, or undefined if it was never set. */
export const readSetting = selectOne<{ value: string }, [name: string], unknown>(
  'SELECT value FROM settings WHERE name = ?',
  ({ value }) => JSON.parse(value) as unknown,
);

export const deleteSetting = change<[name: string]>('DELETE FROM settings WHERE name = ?');

export function writeSetting(database: WriteDatabase, name: string, value: unknown): void {
  putSetting(database, { name, value: JSON.stringify(value) });
}
const putSetting = upserts<{ name: string; value: string }>('settings', { key: 'name', columns: 'value' });

/** The current day of the write counts, and the random key for hashing the addresses of that day. */
export interface WriteDay {
  day: string;
  key: string;
}

/** Writes in one hour, and writes and bytes of the day. */
export interface WriteCounts {
  hour_writes: number;
  day_writes: number;
  day_bytes: number;
}

export const writeDay = selectOne<WriteDay>('SELECT day, key FROM write_day');

/** Begins a day: replaces the key and deletes all counts. */
export function beginWriteDay(database: WriteDatabase, day: WriteDay): void {
  deleteWriteCounts(database);
  putWriteDay(database, day);
}
const deleteWriteCounts = change('DELETE FROM write_counts');
const putWriteDay = change<[WriteDay]>(`
  INSERT INTO write_day (only, day, key) VALUES (1, $day, $key)
  ON CONFLICT DO UPDATE SET day = excluded.day, key = excluded.key`);

export function writeCounts(database: ReadDatabase, who: string, hour: number): WriteCounts {
  return countsOf(database, hour, who) as WriteCounts;
}
const countsOf = selectOne<WriteCounts, [hour: number, who: string]>(`
  SELECT coalesce(sum(writes) FILTER (WHERE hour = ?), 0) AS hour_writes,
    coalesce(sum(writes), 0) AS day_writes, coalesce(sum(bytes), 0) AS day_bytes
  FROM write_counts WHERE who = ?`);

export const addWriteCounts = change<[values: { who: string; hour: number; writes: number; bytes: number }]>(`
  INSERT INTO write_counts (who, hour, writes, bytes) VALUES ($who, $hour, $writes, $bytes)
  ON CONFLICT DO UPDATE SET writes = writes + excluded.writes, bytes = bytes + excluded.bytes`);
