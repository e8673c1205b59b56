import type { Migration } from '../migration.ts';

/**
 * The copies of the archive and what each of them holds. `writer` is a random word by which a copy knows this data
 * folder. `synced_size` is the size of the ledger in the copy's last checkpoint; 0 if it has none.
 */
export const migration: Migration = {
  number: 24,
  sql: `
CREATE TABLE copies (
  id TEXT PRIMARY KEY CHECK (length(id) = 23),
  target TEXT NOT NULL,
  endpoint TEXT,
  region TEXT,
  every_minutes INTEGER CHECK (every_minutes > 0),
  writer TEXT NOT NULL,
  added_at TEXT NOT NULL,
  synced_size INTEGER NOT NULL DEFAULT 0,
  synced_at TEXT,
  checked_at TEXT,
  last_error TEXT,
  UNIQUE (target, endpoint)
) STRICT, WITHOUT ROWID;

CREATE TABLE copied_objects (
  copy TEXT NOT NULL REFERENCES copies (id) ON DELETE CASCADE,
  sha256 TEXT NOT NULL,
  checked_at TEXT,
  PRIMARY KEY (copy, sha256)
) STRICT, WITHOUT ROWID;
`,
};
