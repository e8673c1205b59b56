/**
 * Other nodes, and what was taken from them. `checkpoint` is the newest verified one, as a signed note. `tls_fingerprint` is
 * the certificate that is pinned for a peer whose address is https, as the SHA-256 of its DER in hex; `tls_seen` is another
 * one that the peer showed at the last contact, null if it showed the pinned one. `withheld_size` is the size of the peer's
 * ledger up to which its withholdings were followed. `observe_per_day`: how many addresses this node fetches for the peer in a
 * day; 0 for none.
 *
 * `peer_mirrors` has what was asked for, as canonical JSON, and how far it was taken: everything that the peer's ledger had
 * at that size. `peer_rewrites` and `pack_provenance` are append-only.
 */
const PEERS = `
CREATE TABLE peers (
  id TEXT PRIMARY KEY CHECK (length(id) = 23),
  url TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL UNIQUE,
  key TEXT NOT NULL UNIQUE,
  pinned_at TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('ok', 'unreachable', 'failing', 'key_changed', 'rewritten')),
  last_contact_at TEXT,
  last_error TEXT,
  checkpoint TEXT NOT NULL,
  tls_fingerprint TEXT CHECK (length(tls_fingerprint) = 64),
  tls_seen TEXT CHECK (length(tls_seen) = 64),
  withheld_size INTEGER NOT NULL DEFAULT 0,
  observe_per_day INTEGER NOT NULL DEFAULT 0 CHECK (observe_per_day >= 0)
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

CREATE TABLE pack_provenance (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  record TEXT NOT NULL CHECK (json_valid(record))
) STRICT;
`;

/**
 * What came from a peer and from nowhere else. Only of that does the word of a peer change what visitors get.
 *
 * `peer_origins` numbers the keys of peers. `mirroring` has one row: the peer from which the current transaction takes
 * records; null outside of such a transaction. `peer_objects`: the objects that only records of this peer name, and
 * `peer_studies` the studies that were taken from it. Every record that names an object inserts the row of its blob, or
 * tries to, so the trigger sees each of them. A certificate is in many connections and belongs to no peer.
 */
const ORIGINS = `
CREATE TABLE peer_origins (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE mirroring (origin INTEGER) STRICT;
INSERT INTO mirroring VALUES (NULL);
CREATE TABLE peer_objects (sha256 TEXT PRIMARY KEY, origin INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE peer_studies (id TEXT PRIMARY KEY, origin INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE objects_from_elsewhere (sha256 TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TRIGGER objects_have_origins BEFORE INSERT ON blobs BEGIN
  DELETE FROM peer_objects WHERE sha256 = NEW.sha256 AND origin IS NOT (SELECT origin FROM mirroring);
  INSERT INTO peer_objects SELECT NEW.sha256, origin FROM mirroring WHERE origin IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM blobs WHERE sha256 = NEW.sha256)
    AND NOT EXISTS (SELECT 1 FROM peer_objects WHERE sha256 = NEW.sha256);
  INSERT INTO objects_from_elsewhere SELECT NEW.sha256 FROM mirroring WHERE origin IS NULL
    AND EXISTS (SELECT 1 FROM withheld_objects o JOIN peer_words w ON w.withholding = o.withholding
      WHERE o.sha256 = NEW.sha256)
    AND NOT EXISTS (SELECT 1 FROM objects_from_elsewhere WHERE sha256 = NEW.sha256);
END;
CREATE TRIGGER certificates_have_no_origin AFTER INSERT ON certificates BEGIN
  DELETE FROM peer_objects WHERE sha256 = NEW.sha256;
END;
`;

/**
 * What peers withhold. `peer_words`: the withholdings that this archive made because of the word of a peer.
 * `objects_from_elsewhere`, above: objects that such a withholding covers and whose bytes came from somewhere else; it ends
 * for them before the transaction does.
 *
 * `peer_withholdings`: those that were followed, by the subject of the peer's entry; `withholding` is the one that this
 * archive made of it. `peer_proposals`: what a peer says of objects that this archive has otherwise. `withholding` is in
 * force because of it; `decision` is the owner's.
 *
 * `absent_objects`: objects of mirrored records whose bytes a peer did not give, because it withholds or released them. What
 * one peer does not give, another one may.
 */
const WORDS_OF_PEERS = `
CREATE TABLE peer_words (
  withholding INTEGER PRIMARY KEY REFERENCES withholdings (ledger_entry),
  origin INTEGER NOT NULL
) STRICT;

CREATE TABLE peer_withholdings (
  peer TEXT NOT NULL REFERENCES peers (id) ON DELETE CASCADE,
  subject TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('withheld', 'released')),
  entry INTEGER NOT NULL,
  withholding INTEGER NOT NULL REFERENCES withholdings (ledger_entry),
  PRIMARY KEY (peer, kind, subject, withholding)
) STRICT, WITHOUT ROWID;

CREATE TABLE peer_proposals (
  number INTEGER PRIMARY KEY,
  peer TEXT NOT NULL REFERENCES peers (id) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('withheld', 'released', 'shown')),
  subject TEXT NOT NULL,
  entry INTEGER NOT NULL,
  sha256 TEXT,
  pack TEXT,
  page TEXT,
  reason TEXT NOT NULL,
  note TEXT,
  at TEXT NOT NULL,
  withholding INTEGER REFERENCES withholdings (ledger_entry),
  proposed_at TEXT NOT NULL,
  decision TEXT CHECK (decision IN ('take', 'leave')),
  CHECK ((sha256 IS NOT NULL) + (pack IS NOT NULL) + (page IS NOT NULL) = 1),
  UNIQUE (peer, kind, subject)
) STRICT;

CREATE TABLE absent_objects (
  sha256 TEXT NOT NULL REFERENCES blobs (sha256),
  peer TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('withheld', 'released')),
  reason TEXT NOT NULL,
  since TEXT NOT NULL,
  PRIMARY KEY (sha256, peer)
) STRICT, WITHOUT ROWID;
`;

/**
 * Seen by two at one moment. `signed_observations`: what a peer signed for this node, and what this node signed for a peer;
 * `record` is the canonical JSON that the ledger entry covers. `source_observers`: which peers are asked when a source
 * changes, and how the last request ended. It is a choice of the owner, like the peers themselves, and in no dump.
 */
const OBSERVATIONS = `
CREATE TABLE signed_observations (
  ledger_entry INTEGER PRIMARY KEY,
  record TEXT NOT NULL
) STRICT;
CREATE INDEX signed_observations_by_nonce
  ON signed_observations (json_extract(record, '$.nonce'), json_extract(record, '$.role'));
CREATE INDEX signed_observations_by_event ON signed_observations (json_extract(record, '$.event'))
  WHERE json_extract(record, '$.event') IS NOT NULL;
CREATE INDEX signed_observations_answered
  ON signed_observations (json_extract(record, '$.peer.key'), json_extract(record, '$.at'))
  WHERE json_extract(record, '$.role') = 'answered';

CREATE TABLE source_observers (
  source_key INTEGER NOT NULL,
  peer TEXT NOT NULL REFERENCES peers (id) ON DELETE CASCADE,
  asked_at TEXT,
  error TEXT,
  PRIMARY KEY (source_key, peer)
) STRICT, WITHOUT ROWID;
`;

/** The tables of the peers, and of what they say and see. */
export const PEER_TABLES: string = PEERS + ORIGINS + WORDS_OF_PEERS + OBSERVATIONS;
