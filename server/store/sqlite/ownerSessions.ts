import { type ReadDatabase, statement, type WriteDatabase } from './open.ts';

export function createSession(database: WriteDatabase, tokenSha256: string, at: string): void {
  statement(database, 'INSERT INTO owner_sessions (token_sha256, created_at) VALUES (?, ?)').run(
    tokenSha256,
    at,
  );
}

export function hasSession(database: ReadDatabase, tokenSha256: string): boolean {
  return (
    statement(database, 'SELECT 1 FROM owner_sessions WHERE token_sha256 = ?').get(tokenSha256) !== undefined
  );
}

export function removeSession(database: WriteDatabase, tokenSha256: string): void {
  statement(database, 'DELETE FROM owner_sessions WHERE token_sha256 = ?').run(tokenSha256);
}
