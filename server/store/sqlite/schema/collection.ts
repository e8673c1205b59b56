/**
 * The observed sources. What a column holds that its name does not say:
 *
 * | Column | |
 * |---|---|
 * | `noise_rules` | the owner's rules for insignificant changes; null if there are none |
 * | `rules_digest` | identifies the noise rules and the watched part together; null without both |
 * | `allow_private` | whether connections to private addresses are allowed, as decided when its owner added it. Null for a source that was imported or restored: then they are allowed only if the URL itself has a private address |
 * | `active_hours`, `follow`, `watch` | JSON: when it is checked, which of its links become sources, which part of it is watched |
 * | `found_in` | the id of the source in which the URL was found |
 * | `keep_days` | how long its versions are kept; null for ever |
 * | `needs_login` | is part of the record of a source and in dumps; `profile` is neither. A source that needs a login and has no profile, because it was deleted or not restored, is not fetched |
 * | `login_expired_at` | since when the site no longer accepts the profile for this source |
 * | `watch_sought`, `watch_lost_at` | the object in which the part was last looked for, and since when it is not in the newest. Both are derived: null means that it was not looked for yet |
 *
 * `unnamed_sources` were added by a list without a name, and get the title of their page as their name.
 */
const SOURCES = `
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
  refused_bytes INTEGER,
  noise_rules TEXT,
  rules_digest TEXT,
  allow_private INTEGER CHECK (allow_private IN (0, 1)),
  every TEXT,
  time_zone TEXT,
  active_hours TEXT,
  follow TEXT,
  found_in TEXT,
  capture TEXT NOT NULL DEFAULT 'object' CHECK (capture IN ('object', 'page')),
  picture_events REAL,
  page_error TEXT,
  keep_days INTEGER CHECK (keep_days >= 1),
  needs_login INTEGER NOT NULL DEFAULT 0 CHECK (needs_login IN (0, 1)),
  profile TEXT,
  login_expired_at TEXT,
  watch TEXT,
  watch_sought TEXT,
  watch_lost_at TEXT
) STRICT;
CREATE INDEX sources_by_agency ON sources (agency);
CREATE INDEX sources_by_state ON sources (state) WHERE removed = 0;
CREATE INDEX sources_failing ON sources (failing_since) WHERE removed = 0 AND failing_since IS NOT NULL;
CREATE INDEX sources_due ON sources (next_check_at) WHERE removed = 0 AND paused = 0;
CREATE INDEX sources_refused ON sources (refused_bytes) WHERE removed = 0 AND refused_bytes IS NOT NULL;
CREATE INDEX sources_removed ON sources (key) WHERE removed = 1;
CREATE INDEX sources_with_rules ON sources (key) WHERE rules_digest IS NOT NULL;
CREATE INDEX sources_with_schedule ON sources (key) WHERE every IS NOT NULL OR active_hours IS NOT NULL;
CREATE INDEX sources_with_keep_days ON sources (key) WHERE keep_days IS NOT NULL;
CREATE INDEX sources_by_profile ON sources (profile) WHERE profile IS NOT NULL;
CREATE INDEX sources_with_watch ON sources (key) WHERE watch IS NOT NULL;

INSERT INTO counters VALUES ('sources', 0);
CREATE TRIGGER sources_are_counted AFTER INSERT ON sources WHEN NEW.removed = 0 BEGIN
  UPDATE counters SET value = value + 1 WHERE name = 'sources';
END;
CREATE TRIGGER removed_sources_are_counted AFTER UPDATE OF removed ON sources WHEN NEW.removed <> OLD.removed BEGIN
  UPDATE counters SET value = value + OLD.removed - NEW.removed WHERE name = 'sources';
END;

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

CREATE TABLE unnamed_sources (
  source_key INTEGER PRIMARY KEY REFERENCES sources (key)
) STRICT;

CREATE TABLE validators (
  source_key INTEGER PRIMARY KEY REFERENCES sources (key),
  url TEXT NOT NULL,
  etag TEXT,
  last_modified TEXT,
  sha256 TEXT NOT NULL REFERENCES blobs (sha256),
  content_type TEXT
) STRICT;
`;

/**
 * The rounds, and the retrievals that they made. Rows of `retrievals` never change, so their leaves in the ledger do not
 * either. `request` and `connection` are null where they are not known, as for most captures by others.
 *
 * `part_of` is the page capture that a retrieval belongs to. Such a retrieval is no check or version of its source, so the
 * indexes for those leave it out: a page source has a hundred parts for each check. What a page showed has no status; the
 * other parts are answers by which a page is drawn again, and so are the failures of sources. The moment of an observation is
 * the capture's own time for captures by third parties.
 *
 * The ledger covers retrievals in batches: one entry `retrievals.recorded` for each batch, with the root of the tree of
 * its retrievals' leaves. The leaves are stored, so that a changed retrieval can be identified and one can be proven
 * without the others.
 */
const RETRIEVALS = `
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
  page_label TEXT,
  request TEXT,
  connection TEXT,
  part_of TEXT
) STRICT;
CREATE INDEX retrievals_by_source ON retrievals (source_key, id) WHERE part_of IS NULL;
CREATE INDEX retrievals_by_object ON retrievals (sha256, id) WHERE sha256 IS NOT NULL;
CREATE INDEX retrievals_by_time ON retrievals (observed_at, id);
CREATE INDEX retrievals_by_capture ON retrievals (source_key, original_observed_at, observer, sha256)
  WHERE original_observed_at IS NOT NULL;
CREATE INDEX observations_by_moment ON retrievals (source_key, coalesce(original_observed_at, observed_at), id)
  WHERE sha256 IS NOT NULL AND error IS NULL AND part_of IS NULL;
CREATE INDEX failures_by_moment ON retrievals (source_key, coalesce(original_observed_at, observed_at))
  WHERE part_of IS NULL AND error IS NOT NULL AND status IS NOT NULL;
CREATE INDEX parts_by_source ON retrievals (source_key, id) WHERE part_of IS NOT NULL;
CREATE INDEX parts_by_page ON retrievals (part_of, id) WHERE part_of IS NOT NULL;
CREATE INDEX parts_by_url ON retrievals (url, coalesce(original_observed_at, observed_at))
  WHERE part_of IS NOT NULL AND status IS NOT NULL;

CREATE TRIGGER retrieved_objects_are_named AFTER INSERT ON retrievals WHEN NEW.sha256 IS NOT NULL BEGIN
  INSERT INTO objects (sha256) VALUES (NEW.sha256) ON CONFLICT DO NOTHING;
END;
INSERT INTO counters VALUES ('observations', 0);
CREATE TRIGGER observations_are_counted AFTER INSERT ON retrievals
  WHEN NEW.sha256 IS NOT NULL AND NEW.error IS NULL AND NEW.part_of IS NULL BEGIN
  UPDATE counters SET value = value + 1 WHERE name = 'observations';
END;

CREATE TABLE retrieval_batches (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  first INTEGER NOT NULL UNIQUE CHECK (first >= 1),
  last INTEGER NOT NULL CHECK (last >= first),
  root TEXT NOT NULL CHECK (length(root) = 64)
) STRICT;

CREATE TABLE retrieval_leaves (
  retrieval INTEGER PRIMARY KEY CHECK (retrieval >= 1),
  leaf BLOB NOT NULL CHECK (length(leaf) = 32)
) STRICT;
`;

/**
 * Captures by third parties, by people and by the browser.
 *
 * `captures` holds the identity of WARC records, so that a later file can refer to them. Its indexes and those by capture
 * cover only captures, so the node's own observations cost nothing here.
 *
 * A row of `page_captures` (pages as a browser drew them) and of `hand_ins` (what a person handed in) holds the canonical
 * JSON that its ledger entry covers, with the list of requests or parts by itself because lists do not read it; the columns
 * for look-ups are generated from it. The retrieval of a handed-in document is a capture of its source. The file and the
 * other parts are retrievals that are `part_of` it. They have no status, because no server answered: so they are never the
 * answer to a request of another page.
 */
const CAPTURES = `
CREATE TABLE captures (
  retrieval INTEGER PRIMARY KEY REFERENCES retrievals (id),
  record_id TEXT,
  payload_digest TEXT
) STRICT;
CREATE INDEX captures_by_record ON captures (record_id) WHERE record_id IS NOT NULL;
CREATE INDEX captures_by_payload ON captures (payload_digest) WHERE payload_digest IS NOT NULL;

CREATE TABLE page_captures (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  source_key INTEGER NOT NULL REFERENCES sources (key),
  record TEXT NOT NULL CHECK (json_valid(record)),
  requests TEXT NOT NULL CHECK (json_valid(requests)),
  id TEXT NOT NULL UNIQUE GENERATED ALWAYS AS (record ->> 'id') STORED,
  started_at TEXT NOT NULL GENERATED ALWAYS AS (record ->> 'started_at') STORED,
  retrieval INTEGER NOT NULL REFERENCES retrievals (id) GENERATED ALWAYS AS (record ->> 'retrieval') STORED,
  observer TEXT GENERATED ALWAYS AS (record ->> 'observer') STORED,
  request_count INTEGER NOT NULL GENERATED ALWAYS AS (json_array_length(requests)) STORED,
  -- Quotation marks inside a string are escaped, so this counts members only.
  missing INTEGER NOT NULL GENERATED ALWAYS AS (json_array_length(requests)
    - (length(requests) - length(replace(requests, '"reason":null', ''))) / length('"reason":null')) STORED
) STRICT;
CREATE INDEX page_captures_by_time ON page_captures (started_at, ledger_entry);
CREATE INDEX page_captures_by_source ON page_captures (source_key, started_at, ledger_entry);
CREATE INDEX page_captures_by_retrieval ON page_captures (retrieval);

CREATE TABLE hand_ins (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  source_key INTEGER NOT NULL REFERENCES sources (key),
  record TEXT NOT NULL CHECK (json_valid(record)),
  parts TEXT NOT NULL CHECK (json_valid(parts)),
  id TEXT NOT NULL UNIQUE GENERATED ALWAYS AS (record ->> 'id') STORED,
  retrieval INTEGER NOT NULL UNIQUE REFERENCES retrievals (id) GENERATED ALWAYS AS (record ->> 'retrieval') STORED,
  file TEXT NOT NULL GENERATED ALWAYS AS (record -> 'file' ->> 'sha256') STORED
) STRICT;
CREATE INDEX hand_ins_by_file ON hand_ins (file);
`;

/**
 * Profiles: the cookies and the storage of one site, with which sources are watched that need a login. `sealed` is
 * encrypted with a key that is not in the database. `version` counts how often the owner replaced it, so that a check that
 * began before does not write the cookies of the old login over the new.
 *
 * `found_links` has the addresses that followed sources link to, by the id that their source has or would have. A row
 * that was refused or added stays, so that the address is not offered again. `follow_runs` has the newest reading of
 * each followed source: `sha256` and `settings` say of which version and with which settings.
 */
const PROFILES_AND_LINKS = `
CREATE TABLE profiles (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  site TEXT NOT NULL,
  sealed BLOB NOT NULL,
  version INTEGER NOT NULL DEFAULT 1,
  cookies INTEGER NOT NULL,
  storage_items INTEGER NOT NULL,
  expires_at TEXT,
  created_at TEXT NOT NULL,
  replaced_at TEXT,
  state TEXT NOT NULL CHECK (state IN ('untried', 'works', 'expired', 'unreadable')),
  last_used_at TEXT,
  expired_at TEXT,
  expired_reason TEXT,
  expired_source TEXT
) STRICT;

CREATE TABLE found_links (
  source_key INTEGER NOT NULL REFERENCES sources (key),
  id TEXT NOT NULL,
  url TEXT NOT NULL,
  title TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'refused', 'added')),
  found_at TEXT NOT NULL,
  unlinked_at TEXT,
  PRIMARY KEY (source_key, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX found_links_by_id ON found_links (id);
CREATE INDEX found_links_waiting ON found_links (source_key) WHERE state = 'waiting';

CREATE TABLE follow_runs (
  source_key INTEGER PRIMARY KEY REFERENCES sources (key),
  sha256 TEXT NOT NULL,
  settings TEXT NOT NULL,
  is_index INTEGER NOT NULL CHECK (is_index IN (0, 1)),
  at TEXT NOT NULL,
  listed INTEGER NOT NULL,
  matched INTEGER NOT NULL,
  complete INTEGER NOT NULL CHECK (complete IN (0, 1)),
  problem TEXT
) STRICT;
`;

/** The tables of sources, retrievals and captures. */
export const COLLECTION_TABLES: string = SOURCES + RETRIEVALS + CAPTURES + PROFILES_AND_LINKS;
