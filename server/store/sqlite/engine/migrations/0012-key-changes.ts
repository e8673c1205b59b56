import type { Migration } from '../migration.ts';

/** The changes of the node's key; `record` is what the ledger recorded, as JSON. Append-only. */
export const migration: Migration = {
  number: 12,
  sql: `
CREATE TABLE key_changes (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  type TEXT NOT NULL CHECK (type IN ('key.renewed', 'ledger.rolled_back')),
  record TEXT NOT NULL CHECK (json_valid(record))
) STRICT;
CREATE TRIGGER key_changes_refuse_update BEFORE UPDATE ON key_changes BEGIN SELECT RAISE(ABORT, 'key changes are append-only'); END;
CREATE TRIGGER key_changes_refuse_delete BEFORE DELETE ON key_changes BEGIN SELECT RAISE(ABORT, 'key changes are append-only'); END;
CREATE TRIGGER key_changes_refuses_replace BEFORE INSERT ON key_changes
  WHEN EXISTS (SELECT 1 FROM key_changes WHERE ledger_entry = NEW.ledger_entry)
  BEGIN SELECT RAISE(ABORT, 'key_changes is append-only: there is such a row'); END;
`,
};
