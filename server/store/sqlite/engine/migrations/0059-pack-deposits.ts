import type { Migration } from '../migration.ts';

/**
 * Where packs were published, as the ledger records it: by this node, or by the peer that `pack_provenance` names for the
 * same entry. `deposits.ledger_entry` is that entry. Deposits that were published before this migration have none yet; the
 * node records them when it opens the archive.
 */
export const migration: Migration = {
  number: 59,
  sql: `
CREATE TABLE pack_deposits (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  pack TEXT NOT NULL,
  doi TEXT,
  url TEXT NOT NULL,
  repository TEXT NOT NULL,
  at TEXT NOT NULL
) STRICT;
CREATE INDEX pack_deposits_by_pack ON pack_deposits (pack);
CREATE TRIGGER pack_deposits_refuse_update BEFORE UPDATE ON pack_deposits BEGIN SELECT RAISE(ABORT, 'pack_deposits is append-only'); END;
CREATE TRIGGER pack_deposits_refuse_delete BEFORE DELETE ON pack_deposits BEGIN SELECT RAISE(ABORT, 'pack_deposits is append-only'); END;
CREATE TRIGGER pack_deposits_refuse_replace BEFORE INSERT ON pack_deposits
  WHEN EXISTS (SELECT 1 FROM pack_deposits WHERE ledger_entry = NEW.ledger_entry)
  BEGIN SELECT RAISE(ABORT, 'pack_deposits is append-only: there is such a row'); END;
ALTER TABLE deposits ADD COLUMN ledger_entry INTEGER;
`,
};
