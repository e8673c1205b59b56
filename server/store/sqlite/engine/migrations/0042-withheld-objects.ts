import type { Migration } from '../migration.ts';

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
export const migration: Migration = {
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
