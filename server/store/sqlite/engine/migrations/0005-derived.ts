import type { Migration } from '../migration.ts';

/**
 * Documents derived from archived objects. They are not evidence: they are in no dump and no ledger entry, and deleted
 * ones are derived again. `outcome` is `made`, or why it failed, so that it is not tried again forever.
 *
 * `document_text` is the full-text index of the current versions of the sources, by source key. `indexed_texts` holds the
 * indexed version of each source. `wanted_texts` holds the sources whose version has changed since; triggers fill it in
 * the transaction of the change, so that none is lost in a crash.
 */
export const migration: Migration = {
  number: 5,
  sql: `
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

CREATE VIRTUAL TABLE document_text USING fts5 (
  title, text,
  content = '', contentless_delete = 1,
  tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
);
CREATE TABLE indexed_texts (
  source_key INTEGER PRIMARY KEY REFERENCES sources (key),
  sha256 TEXT NOT NULL
) STRICT;

CREATE TABLE wanted_texts (
  source_key INTEGER PRIMARY KEY REFERENCES sources (key)
) STRICT;
CREATE TRIGGER texts_of_new_versions_are_wanted AFTER UPDATE OF last_sha256 ON sources
  WHEN NEW.last_sha256 IS NOT NULL AND NEW.last_sha256 IS NOT OLD.last_sha256 BEGIN
  INSERT OR IGNORE INTO wanted_texts VALUES (NEW.key);
END;
`,
};
