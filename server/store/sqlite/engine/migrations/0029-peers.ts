import type { Migration } from '../migration.ts';

/**
 * Other nodes, and what was taken from them. `checkpoint` is the newest verified one, as a signed note. `peer_mirrors`
 * has what was asked for, as canonical JSON, and how far it was taken: everything that the peer's ledger had at that size.
 * `peer_rewrites` and `pack_provenance` are append-only.
 */
export const migration: Migration = {
  number: 29,
  sql: `
CREATE TABLE peers (
  id TEXT PRIMARY KEY CHECK (length(id) = 23),
  url TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL UNIQUE,
  key TEXT NOT NULL UNIQUE,
  pinned_at TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('ok', 'unreachable', 'failing', 'key_changed', 'rewritten')),
  last_contact_at TEXT,
  last_error TEXT,
  checkpoint TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE peer_mirrors (
  peer TEXT NOT NULL REFERENCES peers (id) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('packs', 'sources')),
  selection TEXT NOT NULL CHECK (json_valid(selection)),
  follow INTEGER NOT NULL DEFAULT 0 CHECK (follow IN (0, 1)),
  every_minutes INTEGER CHECK (every_minutes > 0),
  size INTEGER NOT NULL DEFAULT 0,
  held INTEGER NOT NULL DEFAULT 0,
  position INTEGER NOT NULL DEFAULT 0,
  mirrored_at TEXT,
  PRIMARY KEY (peer, kind, selection)
) STRICT, WITHOUT ROWID;

CREATE TABLE peer_rewrites (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  record TEXT NOT NULL CHECK (json_valid(record))
) STRICT;
CREATE TRIGGER peer_rewrites_refuse_update BEFORE UPDATE ON peer_rewrites BEGIN SELECT RAISE(ABORT, 'peer_rewrites is append-only'); END;
CREATE TRIGGER peer_rewrites_refuse_delete BEFORE DELETE ON peer_rewrites BEGIN SELECT RAISE(ABORT, 'peer_rewrites is append-only'); END;
CREATE TRIGGER peer_rewrites_refuses_replace BEFORE INSERT ON peer_rewrites
  WHEN EXISTS (SELECT 1 FROM peer_rewrites WHERE ledger_entry = NEW.ledger_entry)
  BEGIN SELECT RAISE(ABORT, 'peer_rewrites is append-only: there is such a row'); END;

CREATE TABLE pack_provenance (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  record TEXT NOT NULL CHECK (json_valid(record))
) STRICT;
CREATE TRIGGER pack_provenance_refuse_update BEFORE UPDATE ON pack_provenance BEGIN SELECT RAISE(ABORT, 'pack_provenance is append-only'); END;
CREATE TRIGGER pack_provenance_refuse_delete BEFORE DELETE ON pack_provenance BEGIN SELECT RAISE(ABORT, 'pack_provenance is append-only'); END;
CREATE TRIGGER pack_provenance_refuses_replace BEFORE INSERT ON pack_provenance
  WHEN EXISTS (SELECT 1 FROM pack_provenance WHERE ledger_entry = NEW.ledger_entry)
  BEGIN SELECT RAISE(ABORT, 'pack_provenance is append-only: there is such a row'); END;
`,
};
