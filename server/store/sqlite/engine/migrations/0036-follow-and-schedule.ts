import type { Migration } from '../migration.ts';

/**
 * When sources are checked, and which of their links become sources. `active_hours` and `follow` are JSON; `found_in` is
 * the id of the source in which the URL was found.
 *
 * Few events have a label, so the filter by label has an index of those.
 *
 * `found_links` has the addresses that followed sources link to, by the id that their source has or would have. A row
 * that was refused or added stays, so that the address is not offered again. `follow_runs` has the newest reading of
 * each followed source: `sha256` and `settings` say of which version and with which settings.
 */
export const migration: Migration = {
  number: 36,
  sql: `
ALTER TABLE sources ADD COLUMN every TEXT;
ALTER TABLE sources ADD COLUMN time_zone TEXT;
ALTER TABLE sources ADD COLUMN active_hours TEXT;
ALTER TABLE sources ADD COLUMN follow TEXT;
ALTER TABLE sources ADD COLUMN found_in TEXT;
CREATE INDEX sources_with_schedule ON sources (key) WHERE every IS NOT NULL OR active_hours IS NOT NULL;

CREATE INDEX events_with_label ON events (id) WHERE page_label IS NOT NULL;

CREATE TABLE found_links (
  source_key INTEGER NOT NULL REFERENCES sources (key),
  id TEXT NOT NULL,
  url TEXT NOT NULL,
  title TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'refused', 'added')),
  found_at TEXT NOT NULL,
  unlinked_at TEXT,
  PRIMARY KEY (source_key, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX found_links_by_id ON found_links (id);
CREATE INDEX found_links_waiting ON found_links (source_key) WHERE state = 'waiting';

CREATE TABLE follow_runs (
  source_key INTEGER PRIMARY KEY REFERENCES sources (key),
  sha256 TEXT NOT NULL,
  settings TEXT NOT NULL,
  is_index INTEGER NOT NULL CHECK (is_index IN (0, 1)),
  at TEXT NOT NULL,
  listed INTEGER NOT NULL,
  matched INTEGER NOT NULL,
  complete INTEGER NOT NULL CHECK (complete IN (0, 1)),
  problem TEXT
) STRICT;
`,
};
