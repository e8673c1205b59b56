import type { Migration } from '../migration.ts';

/**
 * The drafts of packs and their files, whose contents are in the folder `drafts/` or in the archive. A published draft
 * keeps its row with its pack, without record and files, so that a repeated request gets the same pack.
 */
export const migration: Migration = {
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
