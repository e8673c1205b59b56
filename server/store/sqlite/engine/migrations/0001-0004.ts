import type { Migration } from '../migration.ts';

/**
 * The ledger, the blobs and the settings. `tiles` holds the hash of each 256 ledger entries (level 1), of each 256 tiles
 * of level 1 (level 2) and so on, so that any root or proof is computed from at most 255 hashes per level.
 */
const ledgerAndBlobs: Migration = {
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
const archive: Migration = {
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

/**
 * The archive of observed sources. Retrievals, events and source revisions are append-only. Triggers maintain counts for
 * lists, in the same transaction as the rows: `event_counts` has a row for each source, type and observer, and one for
 * all sources with the key 0. `event_marks` has the rank in the timeline, oldest first, of one in 1,024 events, so that
 * any page or range of time is found by its rank without counting.
 */
const collection: Migration = {
  number: 3,
  sql: `
CREATE TABLE sources (
  key INTEGER PRIMARY KEY CHECK (key >= 1),
  id TEXT NOT NULL UNIQUE,
  url TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  agency TEXT NOT NULL,
  tags TEXT NOT NULL,
  every_minutes INTEGER,
  max_object_mb REAL,
  ignore_robots INTEGER NOT NULL,
  headers TEXT NOT NULL,
  paused INTEGER NOT NULL,
  removed INTEGER NOT NULL,
  added_at TEXT NOT NULL,
  revision INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('new', 'available', 'unavailable', 'gone')),
  failures INTEGER NOT NULL,
  missing_since TEXT,
  consecutive INTEGER NOT NULL,
  failing_since TEXT,
  last_checked_at TEXT,
  next_check_at TEXT,
  last_status INTEGER,
  last_error TEXT,
  last_sha256 TEXT,
  last_event_type TEXT,
  refused_bytes INTEGER
) STRICT;
CREATE INDEX sources_by_agency ON sources (agency);
CREATE INDEX sources_by_state ON sources (state) WHERE removed = 0;
CREATE INDEX sources_failing ON sources (failing_since) WHERE removed = 0 AND failing_since IS NOT NULL;
CREATE INDEX sources_due ON sources (next_check_at) WHERE removed = 0 AND paused = 0;
CREATE INDEX sources_refused ON sources (refused_bytes) WHERE removed = 0 AND refused_bytes IS NOT NULL;

CREATE TABLE source_tags (
  tag TEXT NOT NULL,
  source_key INTEGER NOT NULL REFERENCES sources (key),
  PRIMARY KEY (tag, source_key)
) STRICT, WITHOUT ROWID;

CREATE VIRTUAL TABLE source_text USING fts5 (
  url, name, agency, tags,
  content = '', contentless_delete = 1, detail = 'full',
  tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
);

CREATE TABLE source_revisions (
  ledger_entry INTEGER PRIMARY KEY,
  source_key INTEGER NOT NULL REFERENCES sources (key),
  record TEXT NOT NULL
) STRICT;
CREATE INDEX source_revisions_by_source ON source_revisions (source_key);
CREATE TRIGGER source_revisions_refuse_update BEFORE UPDATE ON source_revisions BEGIN SELECT RAISE(ABORT, 'source revisions are append-only'); END;
CREATE TRIGGER source_revisions_refuse_delete BEFORE DELETE ON source_revisions BEGIN SELECT RAISE(ABORT, 'source revisions are append-only'); END;

CREATE TABLE rounds (
  id INTEGER PRIMARY KEY,
  started_by TEXT NOT NULL CHECK (started_by IN ('schedule', 'owner')),
  started_at TEXT NOT NULL,
  ended_at TEXT,
  completed INTEGER NOT NULL DEFAULT 0,
  observer_offline INTEGER NOT NULL DEFAULT 0,
  checked INTEGER NOT NULL DEFAULT 0,
  unchanged INTEGER NOT NULL DEFAULT 0,
  changed INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX rounds_that_checked ON rounds (ended_at) WHERE completed = 1 AND observer_offline = 0 AND checked > 0;

CREATE TABLE objects (
  sha256 TEXT PRIMARY KEY REFERENCES blobs (sha256)
) STRICT, WITHOUT ROWID;

CREATE TABLE retrievals (
  id INTEGER PRIMARY KEY CHECK (id >= 1),
  source_key INTEGER NOT NULL REFERENCES sources (key),
  round INTEGER REFERENCES rounds (id),
  url TEXT NOT NULL,
  final_url TEXT NOT NULL,
  redirects TEXT NOT NULL,
  observer TEXT NOT NULL,
  observed_at TEXT NOT NULL,
  original_observed_at TEXT,
  status INTEGER,
  error TEXT,
  content_type TEXT,
  headers TEXT NOT NULL,
  sha256 TEXT REFERENCES blobs (sha256),
  bytes INTEGER,
  duration_ms INTEGER NOT NULL,
  page_label TEXT
) STRICT;
CREATE INDEX retrievals_by_source ON retrievals (source_key, id);
CREATE INDEX retrievals_by_object ON retrievals (sha256, id) WHERE sha256 IS NOT NULL;
CREATE TRIGGER retrievals_refuse_update BEFORE UPDATE ON retrievals BEGIN SELECT RAISE(ABORT, 'retrievals are append-only'); END;
CREATE TRIGGER retrievals_refuse_delete BEFORE DELETE ON retrievals BEGIN SELECT RAISE(ABORT, 'retrievals are append-only'); END;
CREATE TRIGGER retrieved_objects_are_named AFTER INSERT ON retrievals WHEN NEW.sha256 IS NOT NULL BEGIN
  INSERT INTO objects (sha256) VALUES (NEW.sha256) ON CONFLICT DO NOTHING;
END;

CREATE TABLE events (
  id INTEGER PRIMARY KEY CHECK (id >= 1),
  source_key INTEGER NOT NULL REFERENCES sources (key),
  retrieval INTEGER NOT NULL REFERENCES retrievals (id),
  event_type TEXT NOT NULL CHECK (event_type IN ('first_seen', 'changed', 'unavailable', 'disappeared', 'recovered')),
  observer TEXT NOT NULL,
  observed_at TEXT NOT NULL,
  original_observed_at TEXT,
  sha256 TEXT,
  previous_sha256 TEXT,
  reverts_to INTEGER REFERENCES events (id),
  page_label TEXT,
  ledger_entry INTEGER NOT NULL UNIQUE REFERENCES ledger (seq)
) STRICT;
CREATE INDEX events_by_time ON events (observed_at, id, source_key, event_type, observer);
CREATE INDEX events_by_type ON events (event_type, observed_at, id, source_key, observer);
CREATE INDEX events_by_source ON events (source_key, observed_at, id, event_type, observer);
CREATE INDEX events_by_object ON events (sha256, source_key) WHERE sha256 IS NOT NULL;
CREATE INDEX events_by_previous_object ON events (previous_sha256) WHERE previous_sha256 IS NOT NULL;
CREATE TRIGGER events_refuse_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER events_refuse_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER events_have_no_gap BEFORE INSERT ON events WHEN NEW.id <> (SELECT coalesce(max(id), 0) + 1 FROM events) BEGIN
  SELECT RAISE(ABORT, 'an event has the number after the last');
END;

CREATE TABLE event_counts (
  source_key INTEGER NOT NULL,
  event_type TEXT NOT NULL,
  observer TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (source_key, event_type, observer)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER events_are_counted AFTER INSERT ON events BEGIN
  INSERT INTO event_counts VALUES (NEW.source_key, NEW.event_type, NEW.observer, 1)
    ON CONFLICT DO UPDATE SET count = count + 1;
  INSERT INTO event_counts VALUES (0, NEW.event_type, NEW.observer, 1)
    ON CONFLICT DO UPDATE SET count = count + 1;
END;

CREATE TABLE event_marks (
  observed_at TEXT NOT NULL,
  id INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  PRIMARY KEY (observed_at, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_marks_by_rank ON event_marks (rank);
CREATE TRIGGER events_are_ranked AFTER INSERT ON events BEGIN
  UPDATE event_marks SET rank = rank + 1 WHERE (observed_at, id) > (NEW.observed_at, NEW.id);
  INSERT INTO event_marks (observed_at, id, rank)
    SELECT NEW.observed_at, NEW.id, coalesce(m.rank, 0) + (
      SELECT count(*) FROM events e
      WHERE (e.observed_at, e.id) > (coalesce(m.observed_at, ''), coalesce(m.id, 0))
        AND (e.observed_at, e.id) <= (NEW.observed_at, NEW.id)
    )
    FROM (SELECT 1) LEFT JOIN (
      SELECT * FROM event_marks WHERE (observed_at, id) < (NEW.observed_at, NEW.id)
      ORDER BY observed_at DESC, id DESC LIMIT 1
    ) m
    WHERE NEW.id % 1024 = 0;
END;

CREATE TABLE validators (
  source_key INTEGER PRIMARY KEY REFERENCES sources (key),
  url TEXT NOT NULL,
  etag TEXT,
  last_modified TEXT,
  sha256 TEXT NOT NULL REFERENCES blobs (sha256),
  content_type TEXT
) STRICT;

INSERT INTO counters VALUES ('sources', 0), ('observations', 0), ('archived_objects', 0);
CREATE TRIGGER sources_are_counted AFTER INSERT ON sources WHEN NEW.removed = 0 BEGIN
  UPDATE counters SET value = value + 1 WHERE name = 'sources';
END;
CREATE TRIGGER removed_sources_are_counted AFTER UPDATE OF removed ON sources WHEN NEW.removed <> OLD.removed BEGIN
  UPDATE counters SET value = value + OLD.removed - NEW.removed WHERE name = 'sources';
END;
CREATE TRIGGER observations_are_counted AFTER INSERT ON retrievals WHEN NEW.sha256 IS NOT NULL AND NEW.error IS NULL BEGIN
  UPDATE counters SET value = value + 1 WHERE name = 'observations';
END;
CREATE TRIGGER objects_are_counted AFTER INSERT ON objects BEGIN
  UPDATE counters SET value = value + 1 WHERE name = 'archived_objects';
END;
`,
};

/**
 * The counts of visitors' writes, and the invitations.
 *
 * `write_day` has one row, which is overwritten with a new key each day. Without the old key, no address can be linked to
 * yesterday's counts. `write_counts` has a row for each hour with writes; `who` is the keyed hash of an address, or empty
 * for the total.
 */
const visitors: Migration = {
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

/** The schema of version 0.1.0. */
export const RELEASE_0_1_0: readonly Migration[] = [ledgerAndBlobs, archive, collection, visitors];
