import type { Migration } from '../migration.ts';

/** The changes of cases that each copy has to get, because no ledger entry makes it behind. */
const COUNTS_CHANGES = ['INSERT', 'UPDATE', 'DELETE'].map(
  (change) => `
CREATE TRIGGER cases_count_${change.toLowerCase()} AFTER ${change} ON cases
  BEGIN UPDATE copies SET case_changes = case_changes + 1; END;`,
);

/**
 * The findings, which the ledger covers and which never change, and the cases, which the owner changes. `target_kind` and
 * `target_id` are what a finding is about. `findings_search` indexes the findings by their ledger entry.
 * `copies.case_changes` counts the changes of cases since the last sync.
 */
export const migration: Migration = {
  number: 33,
  sql: `
CREATE TABLE findings (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  id TEXT NOT NULL UNIQUE,
  at TEXT NOT NULL,
  target_kind TEXT NOT NULL CHECK (target_kind IN ('event', 'object', 'pack')),
  target_id TEXT NOT NULL,
  text TEXT NOT NULL,
  tags TEXT NOT NULL,
  passage TEXT,
  passage_sha256 TEXT,
  supersedes TEXT UNIQUE REFERENCES findings (id),
  withdrawal TEXT
) STRICT;
CREATE INDEX findings_by_target ON findings (target_kind, target_id, ledger_entry);
CREATE INDEX findings_by_passage ON findings (passage_sha256, ledger_entry) WHERE passage_sha256 IS NOT NULL;
CREATE TRIGGER findings_refuses_update BEFORE UPDATE ON findings
  BEGIN SELECT RAISE(ABORT, 'what the ledger records is never changed'); END;
CREATE TRIGGER findings_refuses_delete BEFORE DELETE ON findings
  BEGIN SELECT RAISE(ABORT, 'what the ledger records is never changed'); END;
CREATE TRIGGER findings_refuses_replace BEFORE INSERT ON findings
  WHEN EXISTS (SELECT 1 FROM findings WHERE ledger_entry = NEW.ledger_entry OR id = NEW.id
    OR supersedes = NEW.supersedes)
  BEGIN SELECT RAISE(ABORT, 'findings is append-only: there is such a row'); END;

CREATE TABLE current_findings (
  ledger_entry INTEGER PRIMARY KEY REFERENCES findings (ledger_entry)
) STRICT;
CREATE TABLE finding_tags (
  tag TEXT NOT NULL,
  ledger_entry INTEGER NOT NULL REFERENCES findings (ledger_entry),
  PRIMARY KEY (tag, ledger_entry)
) STRICT, WITHOUT ROWID;
CREATE VIRTUAL TABLE findings_search USING fts5(
  text, tags, quote, target,
  content = '', columnsize = 0, tokenize = 'unicode61 remove_diacritics 2', prefix = '1 2 3'
);

CREATE TABLE cases (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  title TEXT NOT NULL,
  description TEXT NOT NULL,
  items TEXT NOT NULL,
  revision INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  changed_at TEXT NOT NULL
) STRICT;
ALTER TABLE copies ADD COLUMN case_changes INTEGER NOT NULL DEFAULT 0;
${COUNTS_CHANGES.join('')}`,
};
