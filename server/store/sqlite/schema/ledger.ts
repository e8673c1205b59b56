/**
 * The ledger and what vouches for it: the key of the node, timestamps, witnesses.
 *
 * `tiles` holds the hash of each 256 ledger entries (level 1), of each 256 tiles of level 1 (level 2) and so on, so that any
 * root or proof is computed from at most 255 hashes per level.
 *
 * `key_changes`: the changes of the node's key; `record` is what the ledger recorded, as JSON.
 */
const LEDGER = `
CREATE TABLE ledger (
  seq INTEGER PRIMARY KEY CHECK (seq >= 1),
  at TEXT NOT NULL,
  type TEXT NOT NULL,
  subject TEXT NOT NULL,
  digest TEXT NOT NULL CHECK (length(digest) = 64),
  prev TEXT NOT NULL CHECK (length(prev) = 64),
  hash TEXT NOT NULL CHECK (length(hash) = 64)
) STRICT;

CREATE TABLE tiles (
  level INTEGER NOT NULL CHECK (level >= 1),
  position INTEGER NOT NULL CHECK (position >= 0),
  hash BLOB NOT NULL CHECK (length(hash) = 32),
  PRIMARY KEY (level, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE key_changes (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  type TEXT NOT NULL CHECK (type IN ('key.renewed', 'ledger.rolled_back')),
  record TEXT NOT NULL CHECK (json_valid(record))
) STRICT;
`;

/**
 * The timestamps of checkpoints (RFC 3161). `text` is what was stamped: the checkpoint without its signatures. `reply` is
 * the authority's answer. `at` is the time by the authority's clock, `received_at` by this node's.
 */
const TIMESTAMPS = `
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
`;

/**
 * `cosignatures`: the lines by which witnesses cosigned this node's checkpoints. `origin` is the name of the log in the
 * checkpoint that was cosigned: after a restore the node has another name, and the line of a witness is only valid with the
 * old one.
 *
 * `witnessed_logs`: the logs for which this node is a witness, each with the newest state that it cosigned. A removed log
 * keeps its state, so that it cannot come back with another history. `witness_refusals`: requests by a log's own key that
 * contradict that state.
 */
const WITNESSES = `
CREATE TABLE cosignatures (
  witness TEXT NOT NULL,
  size INTEGER NOT NULL CHECK (size >= 0),
  root TEXT NOT NULL CHECK (length(root) = 64),
  line TEXT NOT NULL,
  at TEXT NOT NULL,
  received_at TEXT NOT NULL,
  origin TEXT NOT NULL DEFAULT '',
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
`;

/** The tables of the ledger, of its timestamps and of its witnesses. */
export const LEDGER_TABLES: string = LEDGER + TIMESTAMPS + WITNESSES;
