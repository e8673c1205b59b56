import type { Migration } from '../migration.ts';

/**
 * Sessions of the owner end when they are not used: each has the time of its last use (noted once an hour at the most),
 * a public id to be ended by, and what its browser calls itself. A session from before counts as used just now.
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
