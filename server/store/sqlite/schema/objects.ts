/**
 * The stored bytes, by digest. `blobs` has a row for each; `objects` names those that retrievals brought, and `certificates`
 * those that connections name, which are objects too.
 */
const BLOBS = `
CREATE TABLE blobs (
  sha256 TEXT PRIMARY KEY CHECK (length(sha256) = 64),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  stored_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO counters VALUES ('blob_bytes', 0);
CREATE TRIGGER blobs_are_counted AFTER INSERT ON blobs BEGIN
  UPDATE counters SET value = value + NEW.bytes WHERE name = 'blob_bytes';
END;

CREATE TABLE objects (
  sha256 TEXT PRIMARY KEY REFERENCES blobs (sha256)
) STRICT, WITHOUT ROWID;
INSERT INTO counters VALUES ('archived_objects', 0);
CREATE TRIGGER objects_are_counted AFTER INSERT ON objects BEGIN
  UPDATE counters SET value = value + 1 WHERE name = 'archived_objects';
END;

CREATE TABLE certificates (
  sha256 TEXT PRIMARY KEY REFERENCES blobs (sha256)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER certificates_are_objects AFTER INSERT ON certificates BEGIN
  INSERT INTO objects (sha256) VALUES (NEW.sha256) ON CONFLICT DO NOTHING;
END;
`;

/**
 * The results of audits. Damages and restorations are append-only and in the ledger. Triggers maintain the currently
 * damaged blobs in `damaged_objects`; they also work in the order of a dump, all damages before all restorations. The
 * scheduled audit cycles through the blobs in the order of their digests, so the next one after `position` is the one
 * that was audited longest ago.
 */
const AUDITS = `
CREATE TABLE object_damages (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  sha256 TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  problem TEXT NOT NULL CHECK (problem IN ('missing', 'changed', 'unreadable')),
  found TEXT,
  at TEXT NOT NULL
) STRICT;

CREATE TABLE object_restorations (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  damage INTEGER NOT NULL UNIQUE REFERENCES object_damages (ledger_entry),
  sha256 TEXT NOT NULL,
  at TEXT NOT NULL
) STRICT;

CREATE TABLE damaged_objects (
  sha256 TEXT PRIMARY KEY,
  damage INTEGER NOT NULL UNIQUE REFERENCES object_damages (ledger_entry)
) STRICT, WITHOUT ROWID;
INSERT INTO counters VALUES ('damages', 0), ('damaged_objects', 0);
CREATE TRIGGER damages_last AFTER INSERT ON object_damages BEGIN
  UPDATE counters SET value = value + 1 WHERE name = 'damages';
  UPDATE counters SET value = value + 1 WHERE name = 'damaged_objects'
    AND NOT EXISTS (SELECT 1 FROM damaged_objects WHERE sha256 = NEW.sha256);
  INSERT INTO damaged_objects VALUES (NEW.sha256, NEW.ledger_entry)
    ON CONFLICT (sha256) DO UPDATE SET damage = excluded.damage;
END;
CREATE TRIGGER restorations_end_damages AFTER INSERT ON object_restorations BEGIN
  UPDATE counters SET value = value - 1 WHERE name = 'damaged_objects'
    AND EXISTS (SELECT 1 FROM damaged_objects WHERE damage = NEW.damage);
  DELETE FROM damaged_objects WHERE damage = NEW.damage;
END;

CREATE TABLE audits (
  id INTEGER PRIMARY KEY CHECK (id >= 1),
  started_by TEXT NOT NULL CHECK (started_by IN ('schedule', 'owner')),
  started_at TEXT NOT NULL,
  ended_at TEXT,
  completed INTEGER NOT NULL DEFAULT 0,
  position TEXT NOT NULL DEFAULT '',
  checked INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0,
  damaged INTEGER NOT NULL DEFAULT 0,
  restored INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX audits_completed ON audits (ended_at) WHERE completed = 1;
CREATE INDEX audits_running ON audits (started_by) WHERE ended_at IS NULL;
`;

/**
 * Objects whose bytes may have left this disk, because a copy holds them. `pieces` has the SHA-256 of each mebibyte, so
 * that a part of an object can be verified alone. `is_removed` is 0 until the local file was deleted.
 */
const OFFLOADED = `
CREATE TABLE offloaded_objects (
  sha256 TEXT PRIMARY KEY,
  bytes INTEGER NOT NULL CHECK (bytes > 0),
  pieces BLOB NOT NULL,
  offloaded_at TEXT NOT NULL,
  is_removed INTEGER NOT NULL DEFAULT 0 CHECK (is_removed IN (0, 1))
) STRICT;
CREATE INDEX offloaded_objects_left ON offloaded_objects (sha256) WHERE is_removed = 0;
INSERT INTO counters VALUES ('offloaded_objects', 0), ('offloaded_bytes', 0);
CREATE TRIGGER offloaded_objects_are_counted AFTER INSERT ON offloaded_objects BEGIN
  UPDATE counters SET value = value + 1 WHERE name = 'offloaded_objects';
  UPDATE counters SET value = value + NEW.bytes WHERE name = 'offloaded_bytes';
END;
CREATE TRIGGER returned_objects_are_counted AFTER DELETE ON offloaded_objects BEGIN
  UPDATE counters SET value = value - 1 WHERE name = 'offloaded_objects';
  UPDATE counters SET value = value - OLD.bytes WHERE name = 'offloaded_bytes';
END;
`;

/** The tables of the stored bytes, of their audits and of what left this disk. */
export const OBJECT_TABLES: string = BLOBS + AUDITS + OFFLOADED;
