import type { Migration } from '../migration.ts';

/**
 * Objects whose bytes may have left this disk, because a copy holds them. `pieces` has the SHA-256 of each mebibyte, so
 * that a part of an object can be verified alone. `is_removed` is 0 until the local file was deleted. `read_back_at` is
 * when the last complete check of a copy began; `kept_key` is the verifier key whose private key is in a copy.
 */
export const migration: Migration = {
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
