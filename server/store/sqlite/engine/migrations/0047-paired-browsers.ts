import type { Migration } from '../migration.ts';

/** The browsers that are paired with the node. Only the digest of a token is stored. */
export const migration: Migration = {
  number: 47,
  sql: `
CREATE TABLE paired_browsers (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  token_sha256 TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  created_at TEXT NOT NULL,
  last_used_at TEXT
) STRICT;
`,
};
