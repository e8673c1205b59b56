import type { Migration } from '../migration.ts';

/**
 * `cosignatures`: the lines by which witnesses cosigned this node's checkpoints. `witnessed_logs`: the logs for which this
 * node is a witness, each with the newest state that it cosigned. A removed log keeps its state, so that it cannot come
 * back with another history. `witness_refusals`: requests by a log's own key that contradict that state.
 */
export const migration: Migration = {
  number: 28,
  sql: `
CREATE TABLE cosignatures (
  witness TEXT NOT NULL,
  size INTEGER NOT NULL CHECK (size >= 0),
  root TEXT NOT NULL CHECK (length(root) = 64),
  line TEXT NOT NULL,
  at TEXT NOT NULL,
  received_at TEXT NOT NULL,
  PRIMARY KEY (witness, size)
) STRICT, WITHOUT ROWID;

CREATE INDEX cosignatures_by_size ON cosignatures (size, witness);

CREATE TABLE witnessed_logs (
  origin TEXT PRIMARY KEY,
  key TEXT NOT NULL,
  added_at TEXT NOT NULL,
  removed_at TEXT,
  size INTEGER NOT NULL DEFAULT 0 CHECK (size >= 0),
  root TEXT,
  note TEXT,
  cosigned_at TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE witness_refusals (
  id INTEGER PRIMARY KEY,
  origin TEXT NOT NULL,
  at TEXT NOT NULL,
  known_size INTEGER NOT NULL,
  known_note TEXT,
  size INTEGER NOT NULL,
  body TEXT NOT NULL,
  request TEXT NOT NULL,
  UNIQUE (origin, body)
) STRICT;
`,
};
