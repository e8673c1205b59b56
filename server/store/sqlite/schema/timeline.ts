/**
 * The events. `event_counts` has a row for each source, type and observer, and one for all sources with the key 0; a trigger
 * maintains it in the transaction of the event. Few events have a label, so the filter by label has an index of those.
 */
const EVENTS = `
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
  ledger_entry INTEGER NOT NULL UNIQUE REFERENCES ledger (seq),
  page TEXT
) STRICT;
CREATE INDEX events_by_time ON events (observed_at, id, source_key, event_type, observer);
CREATE INDEX events_by_type ON events (event_type, observed_at, id, source_key, observer);
CREATE INDEX events_by_source ON events (source_key, observed_at, id, event_type, observer);
CREATE INDEX events_by_object ON events (sha256, source_key) WHERE sha256 IS NOT NULL;
CREATE INDEX events_by_previous_object ON events (previous_sha256) WHERE previous_sha256 IS NOT NULL;
CREATE INDEX events_by_capture ON events (source_key, observer, id) WHERE original_observed_at IS NOT NULL;
CREATE INDEX events_with_label ON events (id) WHERE page_label IS NOT NULL;
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
`;

/**
 * What the node and its owner think of events. It is in tables of its own because events are never changed.
 *
 * `event_noise` tells whether an event is only noise by its source's rules; `outside`: nothing changed in the watched part.
 * A row is valid only as long as its rules are those of the source. `change` grows with every write, so that the timeline in
 * memory finds what it has not read yet. The counter `events_judged` is the id of the last event that was judged when it was
 * recorded.
 *
 * Which events the owner has seen: all up to the counter `events_seen_until`, except that `seen_exceptions` reverses the
 * state of single events.
 *
 * `event_summaries`: what each change changed, in a few words. Derived: in no dump and no ledger entry. A row is valid only
 * under the noise rules that it was made with; a null summary means that there is nothing to say. The counter
 * `events_summarized` is the id of the last event that was summarized when it was recorded; others are summarized when they
 * are listed.
 */
const OPINIONS = `
CREATE TABLE event_noise (
  event INTEGER PRIMARY KEY REFERENCES events (id),
  is_noise INTEGER NOT NULL CHECK (is_noise IN (0, 1)),
  rules_digest TEXT NOT NULL,
  change INTEGER NOT NULL DEFAULT 0,
  outside INTEGER NOT NULL DEFAULT 0 CHECK (outside IN (0, 1))
) STRICT;
CREATE INDEX event_noise_by_change ON event_noise (change);
CREATE INDEX event_noise_outside ON event_noise (event) WHERE outside = 1;
INSERT INTO counters VALUES ('events_judged', 0);

CREATE TABLE seen_exceptions (event INTEGER PRIMARY KEY) STRICT;
INSERT INTO counters VALUES ('events_seen_until', 0);

CREATE TABLE event_summaries (
  event INTEGER PRIMARY KEY REFERENCES events (id),
  summary TEXT,
  rules_digest TEXT
) STRICT;
INSERT INTO counters VALUES ('events_summarized', 0);
`;

/**
 * Documents derived from archived objects. They are not evidence: they are in no dump and no ledger entry, and deleted
 * ones are derived again. `outcome` is `made`, or why it failed, so that it is not tried again forever.
 */
const DERIVED = `
CREATE TABLE derived_documents (
  key INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('text', 'diff')),
  subject TEXT NOT NULL,
  objects TEXT NOT NULL,
  tool TEXT NOT NULL,
  tool_version TEXT NOT NULL,
  made_at TEXT NOT NULL,
  outcome TEXT NOT NULL,
  detail TEXT,
  title TEXT,
  content BLOB,
  UNIQUE (kind, subject),
  CHECK ((outcome = 'made') = (content IS NOT NULL))
) STRICT;

INSERT INTO counters VALUES ('derived_documents', 0);
CREATE TRIGGER derived_documents_are_counted AFTER INSERT ON derived_documents WHEN NEW.outcome = 'made' BEGIN
  UPDATE counters SET value = value + 1 WHERE name = 'derived_documents';
END;
CREATE TRIGGER derived_documents_are_counted_anew AFTER UPDATE OF outcome ON derived_documents BEGIN
  UPDATE counters SET value = value + (NEW.outcome = 'made') - (OLD.outcome = 'made') WHERE name = 'derived_documents';
END;
CREATE TRIGGER derived_documents_are_uncounted AFTER DELETE ON derived_documents WHEN OLD.outcome = 'made' BEGIN
  UPDATE counters SET value = value - 1 WHERE name = 'derived_documents';
END;
`;

/** The largest key among the texts of a new event's source in a table, or the one before the first. */
function lastKeyIn(table: string): string {
  return `coalesce((SELECT max(key) FROM ${table} WHERE key BETWEEN NEW.source_key * 1048576 AND NEW.source_key * 1048576 + 1048575), NEW.source_key * 1048576)`;
}

/**
 * The full-text index covers all versions of the sources, captures included, and the files of the packs.
 *
 * The key of a version is its source's key times 2^20, plus a number in that source. Keys in order are thus grouped by
 * source, and a search is grouped without reading any other table. The files of packs have negative keys, one for each
 * digest, with `source_key` 0; parts of sets are not indexed. `wanted_texts` is the queue; triggers fill it in the
 * transaction of the event or pack, so that none is lost in a crash.
 */
const TEXTS = `
CREATE VIRTUAL TABLE document_text USING fts5 (
  title, text,
  content = '', contentless_delete = 1,
  tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
);

CREATE TABLE indexed_texts (
  key INTEGER PRIMARY KEY,
  source_key INTEGER NOT NULL,
  sha256 TEXT NOT NULL,
  UNIQUE (source_key, sha256)
) STRICT;

CREATE TABLE wanted_texts (
  key INTEGER PRIMARY KEY,
  source_key INTEGER NOT NULL,
  sha256 TEXT NOT NULL,
  UNIQUE (source_key, sha256)
) STRICT;
CREATE TRIGGER texts_of_versions_are_wanted AFTER INSERT ON events
  WHEN NEW.sha256 IS NOT NULL AND NEW.event_type IN ('first_seen', 'changed') BEGIN
  INSERT OR IGNORE INTO wanted_texts SELECT 1 + max(
      ${lastKeyIn('wanted_texts')},
      ${lastKeyIn('indexed_texts')}
    ), NEW.source_key, NEW.sha256
    WHERE NOT EXISTS (SELECT 1 FROM indexed_texts WHERE source_key = NEW.source_key AND sha256 = NEW.sha256);
END;
CREATE TRIGGER texts_of_pack_files_are_wanted AFTER INSERT ON pack_files
  WHEN NEW.bytes > 0 AND NOT (NEW.media_type LIKE 'image/%' OR NEW.media_type LIKE 'audio/%'
    OR NEW.media_type LIKE 'video/%' OR NEW.media_type LIKE 'font/%')
    AND (SELECT part_of FROM packs WHERE ledger_entry = NEW.pack) IS NULL BEGIN
  INSERT OR IGNORE INTO wanted_texts SELECT min(0,
      coalesce((SELECT min(key) FROM wanted_texts), 0), coalesce((SELECT min(key) FROM indexed_texts), 0)
    ) - 1, 0, NEW.sha256
    WHERE NOT EXISTS (SELECT 1 FROM indexed_texts WHERE source_key = 0 AND sha256 = NEW.sha256);
END;
`;

/** The tables of the timeline, and of the texts and comparisons that are derived from the objects. */
export const TIMELINE_TABLES: string = EVENTS + OPINIONS + DERIVED + TEXTS;
