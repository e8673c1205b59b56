import type { Migration } from '../migration.ts';

/**
 * `copies.must_read_back` is 1 for a bucket that holds a large object which was not read back yet: earlier versions could
 * lose a part of such an object while they sent it (objects above 8 MiB are sent in parts). The next complete check
 * resets it. `copies.owner_token` is the random token that identifies the data folder which writes to a copy.
 */
const copiesToReadBack: Migration = {
  number: 40,
  sql: `
ALTER TABLE copies RENAME COLUMN writer TO owner_token;
ALTER TABLE copies ADD COLUMN must_read_back INTEGER NOT NULL DEFAULT 0 CHECK (must_read_back IN (0, 1));
UPDATE copies SET must_read_back = 1 WHERE target LIKE 's3:%' AND EXISTS (
  SELECT 1 FROM copied_objects c JOIN blobs b ON b.sha256 = c.sha256
  WHERE c.copy = copies.id AND c.checked_at IS NULL AND b.bytes > 8388608);
`,
};

/**
 * Pages as a browser drew them. A row of `page_captures` holds the canonical JSON that its ledger entry covers, with the
 * list of requests by itself because lists do not read it; the columns for look-ups are generated from it.
 *
 * `retrievals.part_of` is the page capture that a retrieval belongs to. Such a retrieval is no check or version of its
 * source, so the indexes for those leave it out: a page source has a hundred parts for each check. What a page showed has
 * no status; the other parts are answers by which a page is drawn again, and so are the failures of sources.
 */
const pageCaptures: Migration = {
  number: 41,
  sql: `
ALTER TABLE sources ADD COLUMN capture TEXT NOT NULL DEFAULT 'object' CHECK (capture IN ('object', 'page'));
ALTER TABLE sources ADD COLUMN picture_events REAL;
ALTER TABLE sources ADD COLUMN page_error TEXT;
ALTER TABLE retrievals ADD COLUMN part_of TEXT;
ALTER TABLE events ADD COLUMN page TEXT;

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
CREATE TRIGGER page_captures_refuse_update BEFORE UPDATE ON page_captures BEGIN SELECT RAISE(ABORT, 'page captures are append-only'); END;
CREATE TRIGGER page_captures_refuse_delete BEFORE DELETE ON page_captures BEGIN SELECT RAISE(ABORT, 'page captures are append-only'); END;
CREATE TRIGGER page_captures_refuses_replace BEFORE INSERT ON page_captures
  WHEN EXISTS (SELECT 1 FROM page_captures WHERE ledger_entry = NEW.ledger_entry OR id = NEW.record ->> 'id')
  BEGIN SELECT RAISE(ABORT, 'page_captures is append-only: there is such a row'); END;

DROP INDEX retrievals_by_source;
CREATE INDEX retrievals_by_source ON retrievals (source_key, id) WHERE part_of IS NULL;
CREATE INDEX parts_by_source ON retrievals (source_key, id) WHERE part_of IS NOT NULL;
CREATE INDEX parts_by_page ON retrievals (part_of, id) WHERE part_of IS NOT NULL;
CREATE INDEX parts_by_url ON retrievals (url, coalesce(original_observed_at, observed_at))
  WHERE part_of IS NOT NULL AND status IS NOT NULL;
CREATE INDEX failures_by_moment ON retrievals (source_key, coalesce(original_observed_at, observed_at))
  WHERE part_of IS NULL AND error IS NOT NULL AND status IS NOT NULL;
DROP INDEX observations_by_moment;
CREATE INDEX observations_by_moment ON retrievals (source_key, coalesce(original_observed_at, observed_at), id)
  WHERE sha256 IS NOT NULL AND error IS NULL AND part_of IS NULL;
DROP TRIGGER observations_are_counted;
CREATE TRIGGER observations_are_counted AFTER INSERT ON retrievals
  WHEN NEW.sha256 IS NOT NULL AND NEW.error IS NULL AND NEW.part_of IS NULL BEGIN
  UPDATE counters SET value = value + 1 WHERE name = 'observations';
END;
`,
};

/**
 * Bytes that visitors may not read, and bytes that were given up. `withholdings`, `showings` and `releases` are what the
 * ledger covers. `withheld_targets` and `withheld_objects` are the withholdings in force, and every digest that each
 * covers; they are derived, and a dump leaves them out.
 *
 * A digest is covered with what was made of it: the pages that were drawn from it, and what those showed.
 *
 * `withheld_texts` are the keys of the index whose texts visitors may not find. A search reads the keys of all hits, so
 * these are kept in memory; the counter says when they have changed.
 */
const withheldObjects: Migration = {
  number: 42,
  sql: `
CREATE TABLE withholdings (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  sha256 TEXT,
  retrieval INTEGER REFERENCES retrievals (id),
  pack TEXT,
  page TEXT,
  reason TEXT NOT NULL CHECK (reason IN ('personal_data', 'copyright', 'legal_order', 'login', 'owner')),
  note TEXT,
  at TEXT NOT NULL,
  CHECK ((sha256 IS NOT NULL) + (retrieval IS NOT NULL) + (pack IS NOT NULL) + (page IS NOT NULL) = 1)
) STRICT;
CREATE TABLE showings (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  withheld INTEGER NOT NULL UNIQUE REFERENCES withholdings (ledger_entry),
  at TEXT NOT NULL
) STRICT;
CREATE TABLE releases (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  sha256 TEXT NOT NULL UNIQUE REFERENCES blobs (sha256),
  bytes INTEGER NOT NULL,
  reason TEXT NOT NULL CHECK (reason IN ('personal_data', 'copyright', 'legal_order', 'login', 'owner', 'age')),
  note TEXT,
  at TEXT NOT NULL
) STRICT;
CREATE TABLE withheld_targets (
  target TEXT PRIMARY KEY,
  withholding INTEGER NOT NULL UNIQUE REFERENCES withholdings (ledger_entry)
) STRICT, WITHOUT ROWID;
CREATE TABLE withheld_objects (
  sha256 TEXT NOT NULL,
  withholding INTEGER NOT NULL REFERENCES withholdings (ledger_entry),
  PRIMARY KEY (sha256, withholding)
) STRICT, WITHOUT ROWID;
CREATE INDEX withheld_objects_by_withholding ON withheld_objects (withholding);
CREATE INDEX page_captures_by_retrieval ON page_captures (retrieval);
CREATE TABLE withheld_texts (key INTEGER PRIMARY KEY) STRICT;
INSERT INTO counters VALUES ('withheld_texts_changes', 0);
CREATE TRIGGER withheld_text_is_new AFTER INSERT ON withheld_texts BEGIN
  UPDATE counters SET value = value + 1 WHERE name = 'withheld_texts_changes';
END;
CREATE TRIGGER withheld_text_is_gone AFTER DELETE ON withheld_texts BEGIN
  UPDATE counters SET value = value + 1 WHERE name = 'withheld_texts_changes';
END;
CREATE TRIGGER texts_are_withheld AFTER INSERT ON withheld_objects BEGIN
  INSERT OR IGNORE INTO withheld_texts SELECT key FROM indexed_texts WHERE ${textsOf('NEW.sha256')};
END;
CREATE TRIGGER texts_are_shown AFTER DELETE ON withheld_objects
  WHEN NOT EXISTS (SELECT 1 FROM withheld_objects WHERE sha256 = OLD.sha256) BEGIN
  DELETE FROM withheld_texts WHERE key IN (SELECT key FROM indexed_texts WHERE ${textsOf('OLD.sha256')});
END;
CREATE TRIGGER indexed_text_may_be_withheld AFTER INSERT ON indexed_texts BEGIN
  DELETE FROM withheld_texts WHERE key = NEW.key;
  INSERT INTO withheld_texts SELECT NEW.key
    WHERE EXISTS (SELECT 1 FROM withheld_objects WHERE sha256 = NEW.sha256);
END;
${appendOnly('withholdings', 'NEW.ledger_entry = ledger_entry')}
${appendOnly('showings', 'NEW.ledger_entry = ledger_entry OR NEW.withheld = withheld')}
${appendOnly('releases', 'NEW.ledger_entry = ledger_entry OR NEW.sha256 = sha256')}

-- A page that is drawn from an object which is withheld shows what is in it. Its parts are inserted before it.
CREATE TRIGGER pages_of_withheld_objects AFTER INSERT ON page_captures BEGIN
  INSERT OR IGNORE INTO withheld_objects (sha256, withholding)
  SELECT part.sha256, held.withholding
  FROM retrievals document JOIN withheld_objects held ON held.sha256 = document.sha256,
    retrievals part
  WHERE document.id = NEW.record ->> 'retrieval' AND part.part_of = NEW.record ->> 'id' AND part.sha256 IS NOT NULL
    AND (part.status IS NULL OR NOT EXISTS (SELECT 1 FROM retrievals other
      WHERE other.sha256 = part.sha256 AND other.source_key <> part.source_key));
END;
`,
};

/** The texts of a digest are found by its sources; those of packs' files have the key 0. */
function textsOf(digest: string): string {
  return `sha256 = ${digest}
    AND source_key IN (SELECT 0 UNION SELECT source_key FROM retrievals WHERE sha256 = ${digest})`;
}

function appendOnly(table: string, isSame: string): string {
  return `
CREATE TRIGGER ${table}_refuse_update BEFORE UPDATE ON ${table} BEGIN SELECT RAISE(ABORT, '${table} is append-only'); END;
CREATE TRIGGER ${table}_refuse_delete BEFORE DELETE ON ${table} BEGIN SELECT RAISE(ABORT, '${table} is append-only'); END;
CREATE TRIGGER ${table}_refuse_replace BEFORE INSERT ON ${table} WHEN EXISTS (SELECT 1 FROM ${table} WHERE ${isSame})
  BEGIN SELECT RAISE(ABORT, '${table} is append-only: there is such a row'); END;`;
}

/** The texts of a digest are found by its sources; those of packs' files have the key 0. */
const OF_DIGEST = `sha256 = NEW.sha256
    AND source_key IN (SELECT 0 UNION SELECT source_key FROM retrievals WHERE sha256 = NEW.sha256)`;

/** The events of which a digest is one of the two versions. */
const EVENTS = `SELECT id FROM events WHERE sha256 = NEW.sha256
    UNION SELECT id FROM events WHERE previous_sha256 = NEW.sha256`;

/**
 * What a release does. `unfinished_releases` are those whose bytes may still be on this disk: they are removed after the
 * release is recorded, and after a crash when the archive is opened. What was derived from the bytes is forgotten in the
 * transaction of the release. Its key in the index stays, so that the text is not derived again.
 *
 * The index marks a text as deleted, and its words stay in the file until it merges them away. The counter
 * `texts_to_clean` says that this is to be done now, because the owner released a text.
 *
 * `keep_days` is how long the versions of a source are kept; null for ever.
 */
const releasedBytes: Migration = {
  number: 44,
  sql: `
CREATE TABLE unfinished_releases (sha256 TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
INSERT INTO counters VALUES ('released_objects', 0), ('released_bytes', 0), ('texts_to_clean', 0);
ALTER TABLE sources ADD COLUMN keep_days INTEGER CHECK (keep_days >= 1);
CREATE INDEX sources_with_keep_days ON sources (key) WHERE keep_days IS NOT NULL;

CREATE TRIGGER released_bytes_are_forgotten AFTER INSERT ON releases BEGIN
  INSERT INTO unfinished_releases VALUES (NEW.sha256);
  UPDATE counters SET value = value + 1 WHERE name = 'released_objects';
  UPDATE counters SET value = value + NEW.bytes WHERE name = 'released_bytes';
  UPDATE counters SET value = value - NEW.bytes WHERE name = 'blob_bytes';
  DELETE FROM offloaded_objects WHERE sha256 = NEW.sha256;
  UPDATE counters SET value = value - 1 WHERE name = 'damaged_objects'
    AND EXISTS (SELECT 1 FROM damaged_objects WHERE sha256 = NEW.sha256);
  DELETE FROM damaged_objects WHERE sha256 = NEW.sha256;

  UPDATE counters SET value = value + 1 WHERE name = 'texts_to_clean' AND NEW.reason <> 'age'
    AND EXISTS (SELECT 1 FROM indexed_texts WHERE ${OF_DIGEST});
  DELETE FROM document_text WHERE rowid IN (SELECT key FROM indexed_texts WHERE ${OF_DIGEST});
  DELETE FROM wanted_texts WHERE ${OF_DIGEST};
  DELETE FROM derived_documents WHERE kind = 'text' AND subject = NEW.sha256;
  DELETE FROM derived_documents WHERE kind = 'diff' AND subject IN (SELECT CAST(id AS TEXT) FROM (${EVENTS}));
  UPDATE event_summaries SET summary = NULL WHERE event IN (${EVENTS});
  DELETE FROM found_links WHERE state = 'waiting'
    AND source_key IN (SELECT source_key FROM follow_runs WHERE sha256 = NEW.sha256);
END;
`,
};

/**
 * Withheld objects in copies with pages for readers, and what mirrors know of their peers.
 *
 * `copies.is_sending`: 1 from before a sync sends anything until everything that it had to remove is gone. A sync of an
 * earlier version may have been killed, so copies that exist begin with 1. `recipient`: whom the encrypted objects of a
 * copy are encrypted to. `kept_recipient`: the one whose identity is in its file of the key. `withheld_cleaned`: how many
 * objects the copy had in the clear and no longer has.
 *
 * `peers.withheld_size`: the size of the peer's ledger up to which its withholdings were followed. `peer_withholdings`: those
 * that were followed, by the subject of the peer's entry; `withholding` is the one that this archive made of it.
 * `absent_objects`: objects of mirrored records whose bytes the peer did not give, because it withholds or released them.
 */
const withheldInCopies: Migration = {
  number: 45,
  sql: `
ALTER TABLE copies ADD COLUMN is_sending INTEGER NOT NULL DEFAULT 0 CHECK (is_sending IN (0, 1));
UPDATE copies SET is_sending = 1;
ALTER TABLE copies ADD COLUMN recipient TEXT;
ALTER TABLE copies ADD COLUMN kept_recipient TEXT;
ALTER TABLE copies ADD COLUMN withheld_cleaned INTEGER NOT NULL DEFAULT 0;
CREATE INDEX copied_withheld_files ON copied_files (copy, path) WHERE path GLOB 'withheld/*';

ALTER TABLE peers ADD COLUMN withheld_size INTEGER NOT NULL DEFAULT 0;
CREATE TABLE peer_withholdings (
  peer TEXT NOT NULL REFERENCES peers (id) ON DELETE CASCADE,
  subject TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('withheld', 'released')),
  entry INTEGER NOT NULL,
  withholding INTEGER NOT NULL REFERENCES withholdings (ledger_entry),
  PRIMARY KEY (peer, kind, subject)
) STRICT, WITHOUT ROWID;

CREATE TABLE absent_objects (
  sha256 TEXT PRIMARY KEY REFERENCES blobs (sha256),
  peer TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('withheld', 'released')),
  reason TEXT NOT NULL,
  since TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`,
};

/**
 * What a person handed in. A row holds the canonical JSON that its ledger entry covers, with the list of parts by itself
 * because lists do not read it; the columns for look-ups are generated from it.
 *
 * The retrieval of the document is a capture of its source. The file and the other parts are retrievals that are `part_of`
 * it. They have no status, because no server answered: so they are never the answer to a request of another page.
 */
const handedIn: Migration = {
  number: 46,
  sql: `
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
CREATE TRIGGER hand_ins_refuse_update BEFORE UPDATE ON hand_ins BEGIN SELECT RAISE(ABORT, 'hand_ins is append-only'); END;
CREATE TRIGGER hand_ins_refuse_delete BEFORE DELETE ON hand_ins BEGIN SELECT RAISE(ABORT, 'hand_ins is append-only'); END;
CREATE TRIGGER hand_ins_refuse_replace BEFORE INSERT ON hand_ins
  WHEN EXISTS (SELECT 1 FROM hand_ins WHERE ledger_entry = NEW.ledger_entry OR id = NEW.record ->> 'id')
  BEGIN SELECT RAISE(ABORT, 'hand_ins is append-only: there is such a row'); END;
`,
};

/** The browsers that are paired with the node. Only the digest of a token is stored. */
const pairedBrowsers: Migration = {
  number: 47,
  sql: `
CREATE TABLE paired_browsers (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  token_sha256 TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  created_at TEXT NOT NULL,
  last_used_at TEXT
) STRICT;
`,
};

/**
 * Profiles: the cookies and the storage of one site, with which sources are watched that need a login. `sealed` is
 * encrypted with a key that is not in the database. `version` counts how often the owner replaced it, so that a check that
 * began before does not write the cookies of the old login over the new.
 *
 * `sources.needs_login` is part of the record of a source and in dumps; `profile` is neither. A source that needs a login
 * and has no profile, because it was deleted or not restored, is not fetched. `login_expired_at`: since when the site no
 * longer accepts the profile for this source.
 */
const profiles: Migration = {
  number: 48,
  sql: `
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
ALTER TABLE sources ADD COLUMN needs_login INTEGER NOT NULL DEFAULT 0 CHECK (needs_login IN (0, 1));
ALTER TABLE sources ADD COLUMN profile TEXT;
ALTER TABLE sources ADD COLUMN login_expired_at TEXT;
CREATE INDEX withholdings_by_retrieval ON withholdings (retrieval) WHERE retrieval IS NOT NULL;
CREATE INDEX sources_by_profile ON sources (profile) WHERE profile IS NOT NULL;
`,
};

/**
 * Where passages are in the texts that newer tools made of their objects. Derived: it can be made again from the texts and the
 * findings, so no dump has it.
 */
const passageAnchors: Migration = {
  number: 49,
  sql: `
CREATE TABLE passage_anchors (
  ledger_entry INTEGER PRIMARY KEY REFERENCES findings (ledger_entry),
  tool TEXT NOT NULL,
  anchor TEXT NOT NULL
) STRICT;
`,
};

export const MIGRATIONS_40_TO_49: readonly Migration[] = [
  copiesToReadBack,
  pageCaptures,
  withheldObjects,
  releasedBytes,
  withheldInCopies,
  handedIn,
  pairedBrowsers,
  profiles,
  passageAnchors,
];
