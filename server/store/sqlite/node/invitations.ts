import type { Invitation } from '../../../../shared/node/invitation.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

const COLUMNS = 'id, name, created_at, last_used_at, writes';

export function insertInvitation(
  database: WriteDatabase,
  { id, name, tokenSha256, at }: { id: string; name: string; tokenSha256: string; at: string },
): void {
  statement(database, 'INSERT INTO invitations (id, name, token_sha256, created_at) VALUES (?, ?, ?, ?)').run(
    id,
    name,
    tokenSha256,
    at,
  );
}

/** Returns a page of invitations, newest first. */
export function invitations(
  database: ReadDatabase,
  { limit, offset }: { limit: number; offset: number },
): Invitation[] {
  return statement<Invitation>(
    database,
    `SELECT ${COLUMNS} FROM invitations ORDER BY number DESC LIMIT ? OFFSET ?`,
  ).all(limit, offset);
}

export function invitationCount(database: ReadDatabase): number {
  return (
    statement<{ count: number }>(database, 'SELECT count(*) AS count FROM invitations').get()?.count ?? 0
  );
}

export function invitationById(database: ReadDatabase, id: string): Invitation | undefined {
  return statement<Invitation>(database, `SELECT ${COLUMNS} FROM invitations WHERE id = ?`).get(id);
}

export function invitationByToken(database: ReadDatabase, tokenSha256: string): Invitation | undefined {
  return statement<Invitation>(database, `SELECT ${COLUMNS} FROM invitations WHERE token_sha256 = ?`).get(
    tokenSha256,
  );
}

export function countInvitationUse(database: WriteDatabase, id: string, at: string): void {
  statement(database, 'UPDATE invitations SET writes = writes + 1, last_used_at = ? WHERE id = ?').run(
    at,
    id,
  );
}

/** Removes an invitation; returns whether it existed. */
export function removeInvitation(database: WriteDatabase, id: string): boolean {
  return statement(database, 'DELETE FROM invitations WHERE id = ?').run(id).changes > 0;
}
