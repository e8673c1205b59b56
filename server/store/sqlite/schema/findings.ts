/**
 * The findings, which the ledger covers and which never change. `target_kind` and `target_id` are what a finding is about.
 * `findings_search` indexes the findings by their ledger entry.
 *
 * `passage_anchors`: where passages are in the texts that newer tools made of their objects. Derived: it can be made again
 * from the texts and the findings, so no dump has it.
 */
const FINDINGS = `
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

CREATE TABLE passage_anchors (
  ledger_entry INTEGER PRIMARY KEY REFERENCES findings (ledger_entry),
  tool TEXT NOT NULL,
  anchor TEXT NOT NULL
) STRICT;
`;

/**
 * Sealed findings. The entry of the ledger has the commitment, the id and the time. `sealed_texts` has the records in the
 * clear until they are revealed. It is in no dump: a dump has `encrypted`, which is never changed.
 */
const SEALED = `
CREATE TABLE sealed_findings (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  id TEXT NOT NULL UNIQUE,
  encrypted TEXT NOT NULL
) STRICT;

CREATE TABLE sealed_texts (
  ledger_entry INTEGER PRIMARY KEY REFERENCES sealed_findings (ledger_entry),
  salt TEXT NOT NULL,
  record TEXT NOT NULL,
  target_kind TEXT NOT NULL GENERATED ALWAYS AS (record ->> '$.target.kind') VIRTUAL,
  target_id TEXT NOT NULL GENERATED ALWAYS AS (record ->> '$.target.id') VIRTUAL,
  passage_sha256 TEXT GENERATED ALWAYS AS (record ->> '$.passage.sha256') VIRTUAL
) STRICT;

CREATE TABLE revealed_findings (
  ledger_entry INTEGER PRIMARY KEY REFERENCES findings (ledger_entry),
  sealed_entry INTEGER NOT NULL UNIQUE REFERENCES sealed_findings (ledger_entry),
  salt TEXT NOT NULL
) STRICT;
`;

/** A change of a case that each copy has to get, because no ledger entry makes it behind. */
function countsChange(change: 'INSERT' | 'UPDATE' | 'DELETE'): string {
  return `
CREATE TRIGGER cases_count_${change.toLowerCase()} AFTER ${change} ON cases
  BEGIN UPDATE copies SET case_changes = case_changes + 1; END;`;
}

/** The cases, which the owner changes. */
const CASES = `
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
${countsChange('INSERT')}${countsChange('UPDATE')}${countsChange('DELETE')}
`;

/** The tables of findings and cases. */
export const FINDING_TABLES: string = FINDINGS + SEALED + CASES;
