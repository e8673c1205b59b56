import type { Migration } from '../migration.ts';

/** Sources that were added by a list without a name, and get the title of their page as their name. */
const namesFromPages: Migration = {
  number: 21,
  sql: `
CREATE TABLE unnamed_sources (
  source_key INTEGER PRIMARY KEY REFERENCES sources (key)
) STRICT;
`,
};

/**
 * The full-text index covers all versions of the sources, captures included, and the files of the packs. It replaces the
 * index of the current versions, which is made anew from the stored texts.
 *
 * The key of a version is its source's key times 2^20, plus a number in that source. Keys in order are thus grouped by
 * source, and a search is grouped without reading any other table. The files of packs have negative keys, one for each
 * digest, with `source_key` 0. `wanted_texts` is the queue; triggers fill it in the transaction of the event or pack, so
 * that none is lost in a crash. `text_backlog` says up to where the events and packs from before this migration are
 * queued.
 */
const textOfAllVersions: Migration = {
  number: 22,
  sql: `
DROP TRIGGER texts_of_new_versions_are_wanted;
DROP TABLE document_text;
DROP TABLE indexed_texts;
DROP TABLE wanted_texts;

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
CREATE TABLE text_backlog (
  kind TEXT PRIMARY KEY CHECK (kind IN ('events', 'packs')),
  done INTEGER NOT NULL,
  last INTEGER NOT NULL
) STRICT;
INSERT INTO text_backlog
  SELECT 'events', 0, max(id) FROM events HAVING max(id) IS NOT NULL
  UNION ALL SELECT 'packs', 0, max(ledger_entry) FROM packs HAVING max(ledger_entry) IS NOT NULL;
CREATE INDEX sources_removed ON sources (key) WHERE removed = 1;

CREATE TRIGGER texts_of_versions_are_wanted AFTER INSERT ON events
  WHEN NEW.sha256 IS NOT NULL AND NEW.event_type IN ('first_seen', 'changed') BEGIN
  INSERT OR IGNORE INTO wanted_texts SELECT 1 + max(
      coalesce((SELECT max(key) FROM wanted_texts WHERE key BETWEEN NEW.source_key * 1048576 AND NEW.source_key * 1048576 + 1048575), NEW.source_key * 1048576),
      coalesce((SELECT max(key) FROM indexed_texts WHERE key BETWEEN NEW.source_key * 1048576 AND NEW.source_key * 1048576 + 1048575), NEW.source_key * 1048576)
    ), NEW.source_key, NEW.sha256
    WHERE NOT EXISTS (SELECT 1 FROM indexed_texts WHERE source_key = NEW.source_key AND sha256 = NEW.sha256);
END;
CREATE TRIGGER texts_of_pack_files_are_wanted AFTER INSERT ON pack_files
  WHEN NEW.bytes > 0 AND NOT (NEW.media_type LIKE 'image/%' OR NEW.media_type LIKE 'audio/%'
    OR NEW.media_type LIKE 'video/%' OR NEW.media_type LIKE 'font/%') BEGIN
  INSERT OR IGNORE INTO wanted_texts SELECT min(0,
      coalesce((SELECT min(key) FROM wanted_texts), 0), coalesce((SELECT min(key) FROM indexed_texts), 0)
    ) - 1, 0, NEW.sha256
    WHERE NOT EXISTS (SELECT 1 FROM indexed_texts WHERE source_key = 0 AND sha256 = NEW.sha256);
END;
`,
};

/**
 * The copies of the archive and what each of them holds. `writer` is a random word by which a copy knows this data
 * folder. `synced_size` is the size of the ledger in the copy's last checkpoint; 0 if it has none.
 */
const copies: Migration = {
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

/**
 * Objects whose bytes may have left this disk, because a copy holds them. `pieces` has the SHA-256 of each mebibyte, so
 * that a part of an object can be verified alone. `is_removed` is 0 until the local file was deleted. `read_back_at` is
 * when the last complete check of a copy began; `kept_key` is the verifier key whose private key is in a copy.
 */
const offloadedObjects: Migration = {
  number: 26,
  sql: `
CREATE TABLE offloaded_objects (
  sha256 TEXT PRIMARY KEY,
  bytes INTEGER NOT NULL CHECK (bytes > 0),
  pieces BLOB NOT NULL,
  offloaded_at TEXT NOT NULL,
  is_removed INTEGER NOT NULL DEFAULT 0 CHECK (is_removed IN (0, 1))
) STRICT;
CREATE INDEX offloaded_objects_left ON offloaded_objects (sha256) WHERE is_removed = 0;

ALTER TABLE copies ADD COLUMN read_back_at TEXT;
ALTER TABLE copies ADD COLUMN kept_key TEXT;

INSERT INTO counters VALUES ('offloaded_objects', 0), ('offloaded_bytes', 0);
CREATE TRIGGER offloaded_objects_are_counted AFTER INSERT ON offloaded_objects BEGIN
  UPDATE counters SET value = value + 1 WHERE name = 'offloaded_objects';
  UPDATE counters SET value = value + NEW.bytes WHERE name = 'offloaded_bytes';
END;
CREATE TRIGGER returned_objects_are_counted AFTER DELETE ON offloaded_objects BEGIN
  UPDATE counters SET value = value - 1 WHERE name = 'offloaded_objects';
  UPDATE counters SET value = value - OLD.bytes WHERE name = 'offloaded_bytes';
END;
`,
};

/**
 * The timestamps of checkpoints (RFC 3161). `text` is what was stamped: the checkpoint without its signatures. `reply` is
 * the authority's answer. `at` is the time by the authority's clock, `received_at` by this node's.
 */
const timestamps: Migration = {
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

/**
 * `cosignatures`: the lines by which witnesses cosigned this node's checkpoints. `witnessed_logs`: the logs for which this
 * node is a witness, each with the newest state that it cosigned. A removed log keeps its state, so that it cannot come
 * back with another history. `witness_refusals`: requests by a log's own key that contradict that state.
 */
const witnesses: Migration = {
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

/**
 * Other nodes, and what was taken from them. `checkpoint` is the newest verified one, as a signed note. `peer_mirrors`
 * has what was asked for, as canonical JSON, and how far it was taken: everything that the peer's ledger had at that size.
 * `peer_rewrites` and `pack_provenance` are append-only.
 */
const peers: Migration = {
  number: 29,
  sql: `
CREATE TABLE peers (
  id TEXT PRIMARY KEY CHECK (length(id) = 23),
  url TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL UNIQUE,
  key TEXT NOT NULL UNIQUE,
  pinned_at TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('ok', 'unreachable', 'failing', 'key_changed', 'rewritten')),
  last_contact_at TEXT,
  last_error TEXT,
  checkpoint TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE peer_mirrors (
  peer TEXT NOT NULL REFERENCES peers (id) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('packs', 'sources')),
  selection TEXT NOT NULL CHECK (json_valid(selection)),
  follow INTEGER NOT NULL DEFAULT 0 CHECK (follow IN (0, 1)),
  every_minutes INTEGER CHECK (every_minutes > 0),
  size INTEGER NOT NULL DEFAULT 0,
  held INTEGER NOT NULL DEFAULT 0,
  position INTEGER NOT NULL DEFAULT 0,
  mirrored_at TEXT,
  PRIMARY KEY (peer, kind, selection)
) STRICT, WITHOUT ROWID;

CREATE TABLE peer_rewrites (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  record TEXT NOT NULL CHECK (json_valid(record))
) STRICT;
CREATE TRIGGER peer_rewrites_refuse_update BEFORE UPDATE ON peer_rewrites BEGIN SELECT RAISE(ABORT, 'peer_rewrites is append-only'); END;
CREATE TRIGGER peer_rewrites_refuse_delete BEFORE DELETE ON peer_rewrites BEGIN SELECT RAISE(ABORT, 'peer_rewrites is append-only'); END;
CREATE TRIGGER peer_rewrites_refuses_replace BEFORE INSERT ON peer_rewrites
  WHEN EXISTS (SELECT 1 FROM peer_rewrites WHERE ledger_entry = NEW.ledger_entry)
  BEGIN SELECT RAISE(ABORT, 'peer_rewrites is append-only: there is such a row'); END;

CREATE TABLE pack_provenance (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  record TEXT NOT NULL CHECK (json_valid(record))
) STRICT;
CREATE TRIGGER pack_provenance_refuse_update BEFORE UPDATE ON pack_provenance BEGIN SELECT RAISE(ABORT, 'pack_provenance is append-only'); END;
CREATE TRIGGER pack_provenance_refuse_delete BEFORE DELETE ON pack_provenance BEGIN SELECT RAISE(ABORT, 'pack_provenance is append-only'); END;
CREATE TRIGGER pack_provenance_refuses_replace BEFORE INSERT ON pack_provenance
  WHEN EXISTS (SELECT 1 FROM pack_provenance WHERE ledger_entry = NEW.ledger_entry)
  BEGIN SELECT RAISE(ABORT, 'pack_provenance is append-only: there is such a row'); END;
`,
};

/**
 * Pages for readers in a copy. `pages` says whether the owner wants them, `public_url` where readers find them.
 * `pages_size` is the size of the ledger that the pages in the copy show, 0 if they are to be written anew;
 * `pages_version` is the version of their design.
 */
const pagesOfCopies: Migration = {
  number: 30,
  sql: `
ALTER TABLE copies ADD COLUMN pages INTEGER NOT NULL DEFAULT 0 CHECK (pages IN (0, 1));
ALTER TABLE copies ADD COLUMN public_url TEXT;
ALTER TABLE copies ADD COLUMN pages_size INTEGER NOT NULL DEFAULT 0;
ALTER TABLE copies ADD COLUMN pages_version INTEGER NOT NULL DEFAULT 0;
`,
};

/**
 * The certificate that is pinned for a peer whose address is https, as the SHA-256 of its DER in hex. `tls_seen` is another
 * one that the peer showed at the last contact; null if it showed the pinned one.
 */
const peerCertificates: Migration = {
  number: 31,
  sql: `
ALTER TABLE peers ADD COLUMN tls_fingerprint TEXT CHECK (length(tls_fingerprint) = 64);
ALTER TABLE peers ADD COLUMN tls_seen TEXT CHECK (length(tls_seen) = 64);
`,
};

/**
 * The drafts of packs and their files, whose contents are in the folder `drafts/` or in the archive. A published draft
 * keeps its row with its pack, without record and files, so that a repeated request gets the same pack.
 */
const drafts: Migration = {
  number: 32,
  sql: `
CREATE TABLE drafts (
  id TEXT PRIMARY KEY CHECK (length(id) = 23),
  title TEXT NOT NULL,
  record TEXT NOT NULL,
  form TEXT,
  revision INTEGER NOT NULL CHECK (revision > 0),
  created_at TEXT NOT NULL,
  changed_at TEXT NOT NULL,
  pack TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE draft_files (
  draft TEXT NOT NULL REFERENCES drafts (id) ON DELETE CASCADE,
  path TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  media_type TEXT NOT NULL,
  PRIMARY KEY (draft, path)
) STRICT, WITHOUT ROWID;
`,
};

export const MIGRATIONS_21_TO_32: readonly Migration[] = [
  namesFromPages,
  textOfAllVersions,
  copies,
  offloadedObjects,
  timestamps,
  witnesses,
  peers,
  pagesOfCopies,
  peerCertificates,
  drafts,
];
