import type { Migration } from '../migration.ts';

/**
 * Sets: data of more than one pack. `packs.part_of` is the id of the set that a pack says it is a part of, as
 * `setOfPart` reads it from the record; null for a pack of its own. `sets` and `set_parts` repeat what the manifests
 * say, so that a list shows the size of a set without reading its file; `crcs` are the CRC-32s of its files, in the order
 * of their paths, which its ZIP needs. Both are derived and in no dump. `draft_parts` are the parts that the publishing
 * of a draft has finished, for the revision that it publishes; `piece` is the digest of a part that is a piece of a file.
 */
export const migration: Migration = {
  number: 57,
  sql: `
ALTER TABLE packs ADD COLUMN part_of TEXT;
UPDATE packs SET part_of = (
  SELECT substr(r.record ->> '$.related[0].identifier', 8) FROM pack_records r
  WHERE r.ledger_entry = packs.ledger_entry
    AND r.record -> '$.keywords' = '["strongroom-set-part@1"]'
    AND json_array_length(r.record, '$.related') = 1
    AND r.record ->> '$.related[0].relation' = 'IsPartOf'
    AND r.record ->> '$.related[0].identifier' LIKE 'sha256:%'
    AND length(r.record ->> '$.related[0].identifier') = 71
    AND r.record ->> '$.related[0].identifier' NOT GLOB 'sha256:*[^0-9a-f]*'
    AND r.record ->> '$.node' IS NULL
) WHERE study IS NULL AND replicates IS NULL AND supersedes IS NULL;
CREATE INDEX packs_that_are_parts ON packs (ledger_entry) WHERE part_of IS NOT NULL;

CREATE TABLE sets (
  ledger_entry INTEGER PRIMARY KEY REFERENCES packs (ledger_entry),
  files INTEGER NOT NULL CHECK (files > 0),
  packs INTEGER NOT NULL CHECK (packs >= 0),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  crcs BLOB
) STRICT;
CREATE TABLE set_parts (
  part TEXT NOT NULL,
  manifest INTEGER NOT NULL REFERENCES sets (ledger_entry),
  PRIMARY KEY (part, manifest)
) STRICT, WITHOUT ROWID;
CREATE INDEX set_parts_by_manifest ON set_parts (manifest);
CREATE TABLE draft_parts (
  draft TEXT NOT NULL REFERENCES drafts (id) ON DELETE CASCADE,
  revision INTEGER NOT NULL,
  position INTEGER NOT NULL,
  pack TEXT NOT NULL,
  piece TEXT,
  PRIMARY KEY (draft, revision, position)
) STRICT, WITHOUT ROWID;

DROP TRIGGER texts_of_pack_files_are_wanted;
CREATE TRIGGER texts_of_pack_files_are_wanted AFTER INSERT ON pack_files
  WHEN NEW.bytes > 0 AND NOT (NEW.media_type LIKE 'image/%' OR NEW.media_type LIKE 'audio/%'
    OR NEW.media_type LIKE 'video/%' OR NEW.media_type LIKE 'font/%')
    AND (SELECT part_of FROM packs WHERE ledger_entry = NEW.pack) IS NULL BEGIN
  INSERT OR IGNORE INTO wanted_texts SELECT min(0,
      coalesce((SELECT min(key) FROM wanted_texts), 0), coalesce((SELECT min(key) FROM indexed_texts), 0)
    ) - 1, 0, NEW.sha256
    WHERE NOT EXISTS (SELECT 1 FROM indexed_texts WHERE source_key = 0 AND sha256 = NEW.sha256);
END;
`,
};
