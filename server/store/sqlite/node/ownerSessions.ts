import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

/** A session of a browser that is signed in as the owner. */
export interface SessionRow {
  id: string;
  created_at: string;
  last_used_at: string;
  label: string;
}

export function insertSession(
  database: WriteDatabase,
  { id, tokenSha256, at, label }: { id: string; tokenSha256: string; at: string; label: string },
): void {
  statement(
    database,
    'INSERT INTO owner_sessions (token_sha256, id, created_at, last_used_at, label) VALUES (?, ?, ?, ?, ?)',
  ).run(tokenSha256, id, at, at, label);
}

export function sessionByToken(database: ReadDatabase, tokenSha256: string): SessionRow | undefined {
  return statement<SessionRow>(
    database,
    'SELECT id, created_at, last_used_at, label FROM owner_sessions WHERE token_sha256 = ?',
  ).get(tokenSha256);
}

/** Returns the sessions used since an instant, most recently used first, and their total number. */
export function sessionsUsedSince(
  database: ReadDatabase,
  since: string,
  { limit, offset }: { limit: number; offset: number },
): { items: SessionRow[]; total: number } {
  const items = statement<SessionRow>(
    database,
    `SELECT id, created_at, last_used_at, label FROM owner_sessions WHERE last_used_at >= ?
     ORDER BY last_used_at DESC, created_at DESC, id LIMIT ? OFFSET ?`,
  ).all(since, limit, offset);
  const counted = statement<{ total: number }>(
    database,
    'SELECT count(*) AS total FROM owner_sessions WHERE last_used_at >= ?',
  ).get(since);
  return { items, total: counted?.total ?? 0 };
}

export function recordSessionUse(database: WriteDatabase, tokenSha256: string, at: string): void {
  statement(database, 'UPDATE owner_sessions SET last_used_at = ? WHERE token_sha256 = ?').run(
    at,
    tokenSha256,
  );
}

export function removeSession(database: WriteDatabase, tokenSha256: string): void {
  statement(database, 'DELETE FROM owner_sessions WHERE token_sha256 = ?').run(tokenSha256);
}

/** Removes a session; returns whether it existed. */
export function removeSessionById(database: WriteDatabase, id: string): boolean {
  return statement(database, 'DELETE FROM owner_sessions WHERE id = ?').run(id).changes > 0;
}

export function removeSessionsUsedBefore(database: WriteDatabase, before: string): void {
  statement(database, 'DELETE FROM owner_sessions WHERE last_used_at < ?').run(before);
}
