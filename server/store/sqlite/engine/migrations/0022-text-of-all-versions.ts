import type { Migration } from '../migration.ts';

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
export const migration: Migration = {
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
