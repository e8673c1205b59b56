import type { Migration } from '../migration.ts';

/**
 * What a person handed in. A row holds the canonical JSON that its ledger entry covers, with the list of parts by itself
 * because lists do not read it; the columns for look-ups are generated from it.
 *
 * The retrieval of the document is a capture of its source. The file and the other parts are retrievals that are `part_of`
 * it. They have no status, because no server answered: so they are never the answer to a request of another page.
 */
export const migration: Migration = {
  number: 46,
  sql: `
CREATE TABLE hand_ins (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  source_key INTEGER NOT NULL REFERENCES sources (key),
  record TEXT NOT NULL CHECK (json_valid(record)),
  parts TEXT NOT NULL CHECK (json_valid(parts)),
  id TEXT NOT NULL UNIQUE GENERATED ALWAYS AS (record ->> 'id') STORED,
  retrieval INTEGER NOT NULL UNIQUE REFERENCES retrievals (id) GENERATED ALWAYS AS (record ->> 'retrieval') STORED,
  file TEXT NOT NULL GENERATED ALWAYS AS (record -> 'file' ->> 'sha256') STORED
) STRICT;
CREATE INDEX hand_ins_by_file ON hand_ins (file);
CREATE TRIGGER hand_ins_refuse_update BEFORE UPDATE ON hand_ins BEGIN SELECT RAISE(ABORT, 'hand_ins is append-only'); END;
CREATE TRIGGER hand_ins_refuse_delete BEFORE DELETE ON hand_ins BEGIN SELECT RAISE(ABORT, 'hand_ins is append-only'); END;
CREATE TRIGGER hand_ins_refuse_replace BEFORE INSERT ON hand_ins
  WHEN EXISTS (SELECT 1 FROM hand_ins WHERE ledger_entry = NEW.ledger_entry OR id = NEW.record ->> 'id')
  BEGIN SELECT RAISE(ABORT, 'hand_ins is append-only: there is such a row'); END;
`,
};
