/** The texts of a digest are found by its sources; those of packs' files have the key 0. */
function textsOf(digest: string): string {
  return `sha256 = ${digest}
    AND source_key IN (SELECT 0 UNION SELECT source_key FROM retrievals WHERE sha256 = ${digest})`;
}

/** The events of which a digest is one of the two versions. */
const EVENTS = `SELECT id FROM events WHERE sha256 = NEW.sha256
    UNION SELECT id FROM events WHERE previous_sha256 = NEW.sha256`;

const OF_PAGES = `(SELECT * FROM retrievals WHERE sha256 = NEW.sha256) r JOIN page_captures p ON p.id = r.part_of`;
/**
 * The events of drawn pages that show an object, and the events after them. If a part of the page is watched, their diffs
 * quote its document or its picture, whose digests are not those of the events.
 */
const EVENTS_OF_PAGES = `SELECT e.id FROM ${OF_PAGES}
      JOIN events e ON e.sha256 = p.record ->> 'text' AND e.source_key = p.source_key WHERE r.status IS NULL
    UNION SELECT e.id FROM ${OF_PAGES}
      JOIN events e ON e.previous_sha256 = p.record ->> 'text' AND e.source_key = p.source_key WHERE r.status IS NULL`;

/** The text of a link is that of the newest version that was read, or of an older one if that no longer links to it. */
const LINKS = `source_key IN (SELECT source_key FROM retrievals WHERE sha256 = NEW.sha256) AND (unlinked_at IS NOT NULL
    OR source_key IN (SELECT source_key FROM follow_runs WHERE sha256 = NEW.sha256))`;

/**
 * Bytes that visitors may not read. `withholdings` and `showings` are what the ledger covers. `withheld_targets` and
 * `withheld_objects` are the withholdings in force, and every digest that each covers; they are derived, and a dump leaves
 * them out. A digest is covered with what was made of it: the pages that were drawn from it, and what those showed. A file
 * that comes when parts of it are withheld is covered with them.
 *
 * `withheld_texts` are the keys of the index whose texts visitors may not find. A search reads the keys of all hits, so
 * these are kept in memory; the counter says when they have changed.
 */
const WITHHELD = `
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
CREATE INDEX withholdings_by_retrieval ON withholdings (retrieval) WHERE retrieval IS NOT NULL;

CREATE TABLE showings (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  withheld INTEGER NOT NULL UNIQUE REFERENCES withholdings (ledger_entry),
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
INSERT INTO counters VALUES ('coverings', 0);
CREATE TRIGGER coverings_are_counted AFTER INSERT ON withheld_objects BEGIN
  UPDATE counters SET value = value + 1 WHERE name = 'coverings';
END;

CREATE TRIGGER file_of_withheld_parts_is_withheld AFTER INSERT ON blobs BEGIN
  INSERT OR IGNORE INTO withheld_objects SELECT NEW.sha256, o.withholding
    FROM joined_files j CROSS JOIN withheld_objects o ON o.sha256 = j.part WHERE j.sha256 = NEW.sha256;
END;

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
`;

/**
 * Bytes that were given up; the ledger covers `releases`. `unfinished_releases` are those whose bytes may still be on this
 * disk: they are removed after the release is recorded, and after a crash when the archive is opened. What was derived from
 * the bytes and what quotes them is forgotten in the transaction of the release: texts, diffs, texts of links, and what
 * messages said. A message that is not sent yet is composed again. The key of a text in the index stays, so that it is not
 * derived again.
 *
 * The index marks a text as deleted, and its words stay in the file until it merges them away. Every release is followed by
 * the overwriting of what is left of its bytes; the counter `texts_to_clean` says of how many that is still to be done.
 */
const RELEASED = `
CREATE TABLE releases (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  sha256 TEXT NOT NULL UNIQUE REFERENCES blobs (sha256),
  bytes INTEGER NOT NULL,
  reason TEXT NOT NULL CHECK (reason IN ('personal_data', 'copyright', 'legal_order', 'login', 'owner', 'age')),
  note TEXT,
  at TEXT NOT NULL
) STRICT;

CREATE TABLE unfinished_releases (sha256 TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
INSERT INTO counters VALUES ('released_objects', 0), ('released_bytes', 0), ('texts_to_clean', 0);

CREATE TRIGGER released_bytes_are_forgotten AFTER INSERT ON releases BEGIN
  INSERT INTO unfinished_releases VALUES (NEW.sha256);
  UPDATE counters SET value = value + 1 WHERE name IN ('released_objects', 'texts_to_clean');
  UPDATE counters SET value = value + NEW.bytes WHERE name = 'released_bytes';
  UPDATE counters SET value = value - NEW.bytes WHERE name = 'blob_bytes';
  DELETE FROM offloaded_objects WHERE sha256 = NEW.sha256;
  UPDATE counters SET value = value - 1 WHERE name = 'damaged_objects'
    AND EXISTS (SELECT 1 FROM damaged_objects WHERE sha256 = NEW.sha256);
  DELETE FROM damaged_objects WHERE sha256 = NEW.sha256;

  DELETE FROM document_text WHERE rowid IN (SELECT key FROM indexed_texts WHERE ${textsOf('NEW.sha256')});
  DELETE FROM wanted_texts WHERE ${textsOf('NEW.sha256')};
  DELETE FROM derived_documents WHERE kind = 'text' AND subject = NEW.sha256;
  DELETE FROM derived_documents WHERE kind = 'diff'
    AND subject IN (SELECT CAST(id AS TEXT) FROM (${EVENTS} UNION ${EVENTS_OF_PAGES}));
  DELETE FROM event_summaries WHERE event IN (${EVENTS_OF_PAGES});
  UPDATE event_summaries SET summary = NULL WHERE event IN (${EVENTS});
  DELETE FROM found_links WHERE state = 'waiting' AND ${LINKS};
  UPDATE found_links SET title = '' WHERE title <> '' AND ${LINKS};
  UPDATE alert_deliveries SET message = iif(state = 'sent', json_set(message, '$.alerts', json('[]')), NULL)
    WHERE message IS NOT NULL AND EXISTS (SELECT 1 FROM json_each(message, '$.alerts')
      WHERE value ->> 'event' IN (${EVENTS} UNION ${EVENTS_OF_PAGES}));
END;
`;

/** The tables of what visitors may not read, and of what was given up. */
export const WITHHELD_TABLES: string = WITHHELD + RELEASED;
