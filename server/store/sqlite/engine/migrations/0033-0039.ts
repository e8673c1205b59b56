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
const findings: Migration = {
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

/**
 * The connection of each retrieval (null for those before this migration), and the certificates that connections name.
 * Certificates are objects of the archive. Rows of retrievals stay as they are, so their leaves in the ledger do too.
 */
const connections: Migration = {
  number: 34,
  sql: `
ALTER TABLE retrievals ADD COLUMN connection TEXT;
CREATE TABLE certificates (
  sha256 TEXT PRIMARY KEY REFERENCES blobs (sha256)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER certificates_are_objects AFTER INSERT ON certificates BEGIN
  INSERT INTO objects (sha256) VALUES (NEW.sha256) ON CONFLICT DO NOTHING;
END;
`,
};

/**
 * What others say of the ledger goes into dumps and copies. `cosignatures.origin` is the name of the log in the checkpoint
 * that was cosigned: after a restore the node has another name, and the line of a witness is only valid with the old one.
 * `copies.synced_proofs` describes the timestamps and cosignatures that the copy has; see `proofsState`.
 */
const proofsInDumps: Migration = {
  number: 35,
  sql: `
ALTER TABLE cosignatures ADD COLUMN origin TEXT NOT NULL DEFAULT '';
UPDATE cosignatures SET origin = coalesce(
  (SELECT substr(value ->> '$', 1, instr(value ->> '$', '+') - 1) FROM settings WHERE name = 'verifier_key'), '');
ALTER TABLE copies ADD COLUMN synced_proofs TEXT NOT NULL DEFAULT '';
`,
};

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
const followAndSchedule: Migration = {
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

/**
 * `alert_rules`: what to alert about, as JSON of `when`, `to` and `every`. `alert_notices`: what a rule was found to match,
 * once per subject; those of a digest have the time at which it is due. `alert_deliveries`: one message to one target, with
 * what it is about (the first of `count` notices) and, from its first attempt on, its text. `alert_conditions`: states of the node that hold now.
 */
const alerts: Migration = {
  number: 37,
  sql: `
CREATE TABLE alert_rules (
  id TEXT PRIMARY KEY CHECK (length(id) = 23),
  name TEXT NOT NULL,
  rule TEXT NOT NULL CHECK (json_valid(rule)),
  paused INTEGER NOT NULL CHECK (paused IN (0, 1)),
  created_at TEXT NOT NULL,
  active_since TEXT NOT NULL,
  after_event INTEGER NOT NULL,
  after_entry INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE alert_notices (
  id INTEGER PRIMARY KEY,
  rule TEXT NOT NULL REFERENCES alert_rules (id) ON DELETE CASCADE,
  subject TEXT NOT NULL,
  notice TEXT NOT NULL CHECK (json_valid(notice)),
  due_at TEXT,
  UNIQUE (rule, subject)
) STRICT;
CREATE INDEX alert_notices_due ON alert_notices (due_at, rule) WHERE due_at IS NOT NULL;

CREATE TABLE alert_deliveries (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE CHECK (length(id) = 23),
  rule TEXT NOT NULL,
  rule_name TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('desktop', 'email', 'webhook')),
  target TEXT NOT NULL CHECK (json_valid(target)),
  notices TEXT NOT NULL CHECK (json_valid(notices)),
  count INTEGER NOT NULL CHECK (count > 0),
  state TEXT NOT NULL CHECK (state IN ('waiting', 'sending', 'sent', 'failed')),
  test INTEGER NOT NULL CHECK (test IN (0, 1)),
  created_at TEXT NOT NULL,
  due_at TEXT NOT NULL,
  gives_up_at TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  sent_at TEXT,
  error TEXT,
  message TEXT CHECK (message IS NULL OR json_valid(message))
) STRICT;
CREATE INDEX alert_deliveries_due ON alert_deliveries (due_at) WHERE state = 'waiting';
CREATE INDEX alert_deliveries_by_state ON alert_deliveries (state, number);
CREATE INDEX alert_deliveries_by_rule ON alert_deliveries (rule, number);

CREATE TABLE alert_conditions (
  name TEXT PRIMARY KEY,
  since TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`,
};

/** `copies.synced_state` is the digest of the file `state/<size>.jsonl` that the last sync wrote; NULL if it is not known. */
const copiedState: Migration = {
  number: 38,
  sql: 'ALTER TABLE copies ADD COLUMN synced_state TEXT;',
};

/**
 * `copied_files`: the files that a copy has besides its objects, with their digests, in the order of its list; see
 * `docs/static-archive.md`. `place` is where the path falls in that order; files of the list itself have negative places. A
 * file that is `passing` is replaced by one of another name as the ledger grows; one that is `gone` is still to be removed.
 * `copied_file_changes`: the places of the files that changed since the list was written.
 * `copies.is_listed`: whether the copy has a list. `copies.sending_size`: the size of the checkpoint that was sent last,
 * recorded before it is sent.
 */
const copiedFiles: Migration = {
  number: 39,
  sql: `
CREATE TABLE copied_files (
  copy TEXT NOT NULL REFERENCES copies (id) ON DELETE CASCADE,
  place INTEGER NOT NULL,
  path TEXT NOT NULL,
  sha256 BLOB NOT NULL CHECK (length(sha256) = 32),
  state TEXT NOT NULL CHECK (state IN ('kept', 'passing', 'gone')),
  PRIMARY KEY (copy, place, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX copied_files_to_replace ON copied_files (copy, state) WHERE state <> 'kept';

CREATE TABLE copied_file_changes (
  copy TEXT NOT NULL REFERENCES copies (id) ON DELETE CASCADE,
  place INTEGER NOT NULL,
  PRIMARY KEY (copy, place)
) STRICT, WITHOUT ROWID;

ALTER TABLE copies ADD COLUMN is_listed INTEGER NOT NULL DEFAULT 0 CHECK (is_listed IN (0, 1));
ALTER TABLE copies ADD COLUMN sending_size INTEGER;
`,
};

export const MIGRATIONS_33_TO_39: readonly Migration[] = [
  findings,
  connections,
  proofsInDumps,
  followAndSchedule,
  alerts,
  copiedState,
  copiedFiles,
];
