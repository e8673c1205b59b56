import type { Migration } from '../migration.ts';

/**
 * The ledger, the blobs and the settings. `tiles` holds the hash of each 256 ledger entries (level 1), of each 256 tiles
 * of level 1 (level 2) and so on, so that any root or proof is computed from at most 255 hashes per level.
 */
export const migration: Migration = {
  number: 1,
  sql: `
CREATE TABLE ledger (
  seq INTEGER PRIMARY KEY CHECK (seq >= 1),
  at TEXT NOT NULL,
  type TEXT NOT NULL,
  subject TEXT NOT NULL,
  digest TEXT NOT NULL CHECK (length(digest) = 64),
  prev TEXT NOT NULL CHECK (length(prev) = 64),
  hash TEXT NOT NULL CHECK (length(hash) = 64)
) STRICT;
CREATE TRIGGER ledger_refuses_update BEFORE UPDATE ON ledger BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_refuses_delete BEFORE DELETE ON ledger BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;

CREATE TABLE tiles (
  level INTEGER NOT NULL CHECK (level >= 1),
  position INTEGER NOT NULL CHECK (position >= 0),
  hash BLOB NOT NULL CHECK (length(hash) = 32),
  PRIMARY KEY (level, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE blobs (
  sha256 TEXT PRIMARY KEY CHECK (length(sha256) = 64),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  stored_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE counters (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO counters VALUES ('blob_bytes', 0);
CREATE TRIGGER blobs_are_counted AFTER INSERT ON blobs BEGIN
  UPDATE counters SET value = value + NEW.bytes WHERE name = 'blob_bytes';
END;

CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE owner_sessions (
  token_sha256 TEXT PRIMARY KEY,
  created_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`,
};
