import type { Migration } from '../migration.ts';

/**
 * The counts of visitors' writes, and the invitations.
 *
 * `write_day` has one row, which is overwritten with a new key each day. Without the old key, no address can be linked to
 * yesterday's counts. `write_counts` has a row for each hour with writes; `who` is the keyed hash of an address, or empty
 * for the total.
 */
export const migration: Migration = {
  number: 4,
  sql: `
CREATE TABLE write_day (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  day TEXT NOT NULL,
  key TEXT NOT NULL CHECK (length(key) = 64)
) STRICT;

CREATE TABLE write_counts (
  who TEXT NOT NULL,
  hour INTEGER NOT NULL CHECK (hour BETWEEN 0 AND 23),
  writes INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (who, hour)
) STRICT, WITHOUT ROWID;

CREATE TABLE invitations (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  token_sha256 TEXT NOT NULL UNIQUE CHECK (length(token_sha256) = 64),
  created_at TEXT NOT NULL,
  last_used_at TEXT,
  writes INTEGER NOT NULL DEFAULT 0
) STRICT;
`,
};
