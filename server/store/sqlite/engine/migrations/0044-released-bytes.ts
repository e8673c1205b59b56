import type { Migration } from '../migration.ts';

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
export const migration: Migration = {
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
