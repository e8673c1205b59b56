import type { Migration } from '../migration.ts';

/**
 * The timestamps of checkpoints (RFC 3161). `text` is what was stamped: the checkpoint without its signatures. `reply` is
 * the authority's answer. `at` is the time by the authority's clock, `received_at` by this node's.
 */
export const migration: Migration = {
  number: 27,
  sql: `
CREATE TABLE timestamps (
  id TEXT PRIMARY KEY CHECK (length(id) = 23),
  authority TEXT NOT NULL,
  at TEXT NOT NULL,
  received_at TEXT NOT NULL,
  size INTEGER NOT NULL CHECK (size >= 0),
  root TEXT NOT NULL CHECK (length(root) = 64),
  serial TEXT NOT NULL,
  text TEXT NOT NULL,
  reply BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX timestamps_by_size ON timestamps (size, at);
CREATE INDEX timestamps_by_authority ON timestamps (authority, received_at);

CREATE TRIGGER timestamps_stay BEFORE UPDATE ON timestamps
BEGIN SELECT RAISE(ABORT, 'A timestamp is not changed.'); END;
`,
};
