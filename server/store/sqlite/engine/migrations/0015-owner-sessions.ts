import type { Migration } from '../migration.ts';

/**
 * The owner's sessions expire when unused. Each has the time of its last use (updated at most once an hour), a public id
 * for ending it, and the name of its browser. Existing sessions count as used at the time of this migration.
 */
export const migration: Migration = {
  number: 15,
  sql: `
CREATE TABLE owner_sessions_with_use (
  token_sha256 TEXT PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  created_at TEXT NOT NULL,
  last_used_at TEXT NOT NULL,
  label TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO owner_sessions_with_use (token_sha256, id, created_at, last_used_at, label)
  SELECT token_sha256, 'se_' || lower(hex(randomblob(10))), created_at, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), ''
  FROM owner_sessions;
DROP TABLE owner_sessions;
ALTER TABLE owner_sessions_with_use RENAME TO owner_sessions;
`,
};
