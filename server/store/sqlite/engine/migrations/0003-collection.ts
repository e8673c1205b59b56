import type { Migration } from '../migration.ts';

/**
 * The archive of observed sources. Retrievals, events and source revisions are append-only. Triggers maintain counts for
 * lists, in the same transaction as the rows: `event_counts` has a row for each source, type and observer, and one for
 * all sources with the key 0. `event_marks` has the rank in the timeline, oldest first, of one in 1,024 events, so that
 * any page or range of time is found by its rank without counting.
 */
export const migration: Migration = {
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
