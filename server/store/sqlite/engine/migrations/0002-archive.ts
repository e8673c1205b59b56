import type { Migration } from '../migration.ts';

/** Tables whose rows are recorded in the ledger and never change after that. */
const APPEND_ONLY = ['nodes', 'study_statuses', 'pack_records', 'pack_files', 'pack_flags', 'comments'];

/**
 * The archive of data packs. The key of each row is the number of the ledger entry that recorded it, so descending order
 * is newest first.
 *
 * `pack_records` holds the canonical text of each record; `packs.digest` is its SHA-256. `packs` repeats the columns that
 * lists sort and count by. It is narrow, so that 100,000 rows are read quickly. `pack_filters` is an inverted index with
 * a row for each pack and filter value; `pack_filter_values.packs` counts them.
 */
export const migration: Migration = {
  number: 2,
  sql: `
CREATE TABLE nodes (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  path TEXT NOT NULL UNIQUE,
  parent TEXT REFERENCES nodes (path),
  title TEXT NOT NULL,
  description TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX nodes_by_parent ON nodes (parent, ledger_entry);

CREATE TABLE studies (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  id TEXT NOT NULL UNIQUE,
  title TEXT NOT NULL,
  question TEXT NOT NULL,
  description TEXT NOT NULL,
  node TEXT REFERENCES nodes (path),
  status TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX studies_by_status ON studies (status, ledger_entry);
CREATE INDEX studies_by_node ON studies (node, ledger_entry) WHERE node IS NOT NULL;

CREATE TABLE study_statuses (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  study TEXT NOT NULL REFERENCES studies (id),
  status TEXT NOT NULL,
  note TEXT NOT NULL,
  at TEXT NOT NULL
) STRICT;
CREATE INDEX study_statuses_by_study ON study_statuses (study, ledger_entry);

CREATE VIRTUAL TABLE studies_search USING fts5(
  title, question, description, identity,
  content = '', columnsize = 0, tokenize = 'unicode61 remove_diacritics 2', prefix = '1 2 3'
);

CREATE TABLE packs (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  id TEXT NOT NULL UNIQUE,
  digest TEXT NOT NULL UNIQUE CHECK (length(digest) = 64),
  title_key TEXT NOT NULL,
  outcome TEXT NOT NULL,
  tag TEXT NOT NULL,
  study TEXT REFERENCES studies (id),
  replicates TEXT REFERENCES packs (id),
  verdict TEXT,
  original_had_method INTEGER,
  supersedes TEXT REFERENCES packs (id),
  bytes INTEGER NOT NULL,
  files INTEGER NOT NULL,
  record_bytes INTEGER NOT NULL,
  replications INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX packs_by_title ON packs (title_key, ledger_entry);
CREATE INDEX packs_by_replications ON packs (replications, ledger_entry);
CREATE INDEX packs_by_study ON packs (study, ledger_entry, outcome, verdict) WHERE study IS NOT NULL;
CREATE INDEX packs_by_original ON packs (replicates, ledger_entry, verdict) WHERE replicates IS NOT NULL;
CREATE INDEX packs_by_superseded ON packs (supersedes, ledger_entry) WHERE supersedes IS NOT NULL;

CREATE TABLE pack_records (
  ledger_entry INTEGER PRIMARY KEY REFERENCES packs (ledger_entry),
  record TEXT NOT NULL
) STRICT;

CREATE TABLE pack_files (
  pack INTEGER NOT NULL REFERENCES packs (ledger_entry),
  path TEXT NOT NULL,
  sha256 TEXT NOT NULL REFERENCES blobs (sha256),
  bytes INTEGER NOT NULL,
  media_type TEXT NOT NULL,
  PRIMARY KEY (pack, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX pack_files_by_sha256 ON pack_files (sha256, pack);

CREATE TABLE pack_filter_values (
  id INTEGER PRIMARY KEY,
  filter TEXT NOT NULL,
  value TEXT NOT NULL,
  packs INTEGER NOT NULL DEFAULT 0,
  UNIQUE (filter, value)
) STRICT;
CREATE TABLE pack_filters (
  value INTEGER NOT NULL REFERENCES pack_filter_values (id),
  pack INTEGER NOT NULL REFERENCES packs (ledger_entry),
  PRIMARY KEY (value, pack)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER pack_filters_are_counted AFTER INSERT ON pack_filters BEGIN
  UPDATE pack_filter_values SET packs = packs + 1 WHERE id = NEW.value;
END;
CREATE TRIGGER pack_filters_are_uncounted AFTER DELETE ON pack_filters BEGIN
  UPDATE pack_filter_values SET packs = packs - 1 WHERE id = OLD.value;
END;

CREATE VIRTUAL TABLE packs_search USING fts5(
  title, summary, authors, keywords, method, results, identity,
  content = '', columnsize = 0, tokenize = 'unicode61 remove_diacritics 2', prefix = '1 2 3'
);

CREATE TABLE pack_flags (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  pack TEXT NOT NULL REFERENCES packs (id),
  reason TEXT NOT NULL,
  note TEXT NOT NULL,
  at TEXT NOT NULL
) STRICT;
CREATE INDEX pack_flags_by_pack ON pack_flags (pack, ledger_entry);

CREATE TABLE comments (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  id TEXT NOT NULL UNIQUE,
  item TEXT NOT NULL,
  author TEXT NOT NULL,
  body TEXT NOT NULL,
  reply_to TEXT REFERENCES comments (id),
  at TEXT NOT NULL
) STRICT;
CREATE INDEX comments_by_item ON comments (item, ledger_entry);
${APPEND_ONLY.map(refusesChange).join('')}`,
};

function refusesChange(table: string): string {
  return ['UPDATE', 'DELETE']
    .map(
      (change) => `
CREATE TRIGGER ${table}_refuses_${change.toLowerCase()} BEFORE ${change} ON ${table}
  BEGIN SELECT RAISE(ABORT, 'what the ledger records is never changed'); END;`,
    )
    .join('');
}
