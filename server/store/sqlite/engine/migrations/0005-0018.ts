import type { Migration } from '../migration.ts';

/**
 * Documents derived from archived objects. They are not evidence: they are in no dump and no ledger entry, and deleted
 * ones are derived again. `outcome` is `made`, or why it failed, so that it is not tried again forever.
 *
 * `document_text` is the full-text index of the current versions of the sources, by source key. `indexed_texts` holds the
 * indexed version of each source. `wanted_texts` holds the sources whose version has changed since; triggers fill it in
 * the transaction of the change, so that none is lost in a crash.
 */
const derived: Migration = {
  number: 5,
  sql: `
CREATE TABLE derived_documents (
  key INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('text', 'diff')),
  subject TEXT NOT NULL,
  objects TEXT NOT NULL,
  tool TEXT NOT NULL,
  tool_version TEXT NOT NULL,
  made_at TEXT NOT NULL,
  outcome TEXT NOT NULL,
  detail TEXT,
  title TEXT,
  content BLOB,
  UNIQUE (kind, subject),
  CHECK ((outcome = 'made') = (content IS NOT NULL))
) STRICT;

INSERT INTO counters VALUES ('derived_documents', 0);
CREATE TRIGGER derived_documents_are_counted AFTER INSERT ON derived_documents WHEN NEW.outcome = 'made' BEGIN
  UPDATE counters SET value = value + 1 WHERE name = 'derived_documents';
END;
CREATE TRIGGER derived_documents_are_counted_anew AFTER UPDATE OF outcome ON derived_documents BEGIN
  UPDATE counters SET value = value + (NEW.outcome = 'made') - (OLD.outcome = 'made') WHERE name = 'derived_documents';
END;
CREATE TRIGGER derived_documents_are_uncounted AFTER DELETE ON derived_documents WHEN OLD.outcome = 'made' BEGIN
  UPDATE counters SET value = value - 1 WHERE name = 'derived_documents';
END;

CREATE VIRTUAL TABLE document_text USING fts5 (
  title, text,
  content = '', contentless_delete = 1,
  tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
);
CREATE TABLE indexed_texts (
  source_key INTEGER PRIMARY KEY REFERENCES sources (key),
  sha256 TEXT NOT NULL
) STRICT;

CREATE TABLE wanted_texts (
  source_key INTEGER PRIMARY KEY REFERENCES sources (key)
) STRICT;
CREATE TRIGGER texts_of_new_versions_are_wanted AFTER UPDATE OF last_sha256 ON sources
  WHEN NEW.last_sha256 IS NOT NULL AND NEW.last_sha256 IS NOT OLD.last_sha256 BEGIN
  INSERT OR IGNORE INTO wanted_texts VALUES (NEW.key);
END;
`,
};

/**
 * Noise rules: the owner's rules for insignificant changes of a source. `noise_rules` is null if there are none;
 * `rules_digest` identifies the set of rules.
 *
 * `event_noise` tells whether an event is only noise by its source's rules. It is a separate table because events are
 * never changed. A row is valid only as long as its rules are those of the source. The counter `events_judged` is the id
 * of the last event that was judged when it was recorded.
 */
const noise: Migration = {
  number: 6,
  sql: `
ALTER TABLE sources ADD COLUMN noise_rules TEXT;
ALTER TABLE sources ADD COLUMN rules_digest TEXT;
CREATE INDEX sources_with_rules ON sources (key) WHERE rules_digest IS NOT NULL;

CREATE TABLE event_noise (
  event INTEGER PRIMARY KEY REFERENCES events (id),
  is_noise INTEGER NOT NULL CHECK (is_noise IN (0, 1)),
  rules_digest TEXT NOT NULL
) STRICT;

INSERT INTO counters SELECT 'events_judged', coalesce(max(id), 0) FROM events;
`,
};

/**
 * Captures by third parties. The table holds the identity of WARC records, so that a later file can refer to them. The
 * indexes find existing captures and the newest version by each observer. They cover only captures, so the node's own
 * observations cost nothing here.
 */
const captures: Migration = {
  number: 7,
  sql: `
CREATE TABLE captures (
  retrieval INTEGER PRIMARY KEY REFERENCES retrievals (id),
  record_id TEXT,
  payload_digest TEXT
) STRICT;
CREATE INDEX captures_by_record ON captures (record_id) WHERE record_id IS NOT NULL;
CREATE INDEX captures_by_payload ON captures (payload_digest) WHERE payload_digest IS NOT NULL;
CREATE TRIGGER captures_refuse_update BEFORE UPDATE ON captures BEGIN SELECT RAISE(ABORT, 'captures are append-only'); END;
CREATE TRIGGER captures_refuse_delete BEFORE DELETE ON captures BEGIN SELECT RAISE(ABORT, 'captures are append-only'); END;
CREATE INDEX retrievals_by_capture ON retrievals (source_key, original_observed_at, observer, sha256)
  WHERE original_observed_at IS NOT NULL;
CREATE INDEX events_by_capture ON events (source_key, observer, id) WHERE original_observed_at IS NOT NULL;
`,
};

/**
 * The request of each retrieval (null for those before this migration), and indexes for exports and mementos: all
 * retrievals by time, and the observations of a source by their moment, which is the capture's own time for captures by
 * third parties.
 */
const requests: Migration = {
  number: 8,
  sql: `
ALTER TABLE retrievals ADD COLUMN request TEXT;
CREATE INDEX retrievals_by_time ON retrievals (observed_at, id);
CREATE INDEX observations_by_moment ON retrievals (source_key, coalesce(original_observed_at, observed_at), id)
  WHERE sha256 IS NOT NULL AND error IS NULL;
`,
};

/**
 * The results of audits. Damages and restorations are append-only and in the ledger. Triggers maintain the currently
 * damaged blobs in `damaged_objects`; they also work in the order of a dump, all damages before all restorations. The
 * scheduled audit cycles through the blobs in the order of their digests, so the next one after `position` is the one
 * that was audited longest ago.
 */
const fixity: Migration = {
  number: 9,
  sql: `
CREATE TABLE object_damages (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  sha256 TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  problem TEXT NOT NULL CHECK (problem IN ('missing', 'changed', 'unreadable')),
  found TEXT,
  at TEXT NOT NULL
) STRICT;
CREATE TRIGGER object_damages_refuse_update BEFORE UPDATE ON object_damages BEGIN SELECT RAISE(ABORT, 'damages are append-only'); END;
CREATE TRIGGER object_damages_refuse_delete BEFORE DELETE ON object_damages BEGIN SELECT RAISE(ABORT, 'damages are append-only'); END;

CREATE TABLE object_restorations (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  damage INTEGER NOT NULL UNIQUE REFERENCES object_damages (ledger_entry),
  sha256 TEXT NOT NULL,
  at TEXT NOT NULL
) STRICT;
CREATE TRIGGER object_restorations_refuse_update BEFORE UPDATE ON object_restorations BEGIN SELECT RAISE(ABORT, 'restorations are append-only'); END;
CREATE TRIGGER object_restorations_refuse_delete BEFORE DELETE ON object_restorations BEGIN SELECT RAISE(ABORT, 'restorations are append-only'); END;

CREATE TABLE damaged_objects (
  sha256 TEXT PRIMARY KEY,
  damage INTEGER NOT NULL UNIQUE REFERENCES object_damages (ledger_entry)
) STRICT, WITHOUT ROWID;
INSERT INTO counters VALUES ('damages', 0), ('damaged_objects', 0);
CREATE TRIGGER damages_last AFTER INSERT ON object_damages BEGIN
  UPDATE counters SET value = value + 1 WHERE name = 'damages';
  UPDATE counters SET value = value + 1 WHERE name = 'damaged_objects'
    AND NOT EXISTS (SELECT 1 FROM damaged_objects WHERE sha256 = NEW.sha256);
  INSERT INTO damaged_objects VALUES (NEW.sha256, NEW.ledger_entry)
    ON CONFLICT (sha256) DO UPDATE SET damage = excluded.damage;
END;
CREATE TRIGGER restorations_end_damages AFTER INSERT ON object_restorations BEGIN
  UPDATE counters SET value = value - 1 WHERE name = 'damaged_objects'
    AND EXISTS (SELECT 1 FROM damaged_objects WHERE damage = NEW.damage);
  DELETE FROM damaged_objects WHERE damage = NEW.damage;
END;

CREATE TABLE audits (
  id INTEGER PRIMARY KEY CHECK (id >= 1),
  started_by TEXT NOT NULL CHECK (started_by IN ('schedule', 'owner')),
  started_at TEXT NOT NULL,
  ended_at TEXT,
  completed INTEGER NOT NULL DEFAULT 0,
  position TEXT NOT NULL DEFAULT '',
  checked INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0,
  damaged INTEGER NOT NULL DEFAULT 0,
  restored INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX audits_completed ON audits (ended_at) WHERE completed = 1;
CREATE INDEX audits_running ON audits (started_by) WHERE ended_at IS NULL;
`,
};

/**
 * The unique columns of each append-only table. `INSERT OR REPLACE` deletes conflicting rows without firing the triggers
 * that refuse DELETE (https://sqlite.org/lang_conflict.html), so these triggers refuse the INSERT.
 */
const REPLACED_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  ledger: ['seq'],
  events: ['id', 'ledger_entry'],
  retrievals: ['id'],
  source_revisions: ['ledger_entry'],
  captures: ['retrieval'],
  object_damages: ['ledger_entry'],
  object_restorations: ['ledger_entry', 'damage'],
  nodes: ['ledger_entry', 'path'],
  study_statuses: ['ledger_entry'],
  pack_records: ['ledger_entry'],
  pack_flags: ['ledger_entry'],
  comments: ['ledger_entry', 'id'],
};

const noReplace: Migration = {
  number: 10,
  sql: Object.entries(REPLACED_COLUMNS)
    .map(
      ([table, columns]) => `
CREATE TRIGGER ${table}_refuses_replace BEFORE INSERT ON ${table}
  WHEN ${columns.map((column) => `EXISTS (SELECT 1 FROM ${table} WHERE ${column} = NEW.${column})`).join(' OR ')}
  BEGIN SELECT RAISE(ABORT, '${table} is append-only: there is such a row'); END;`,
    )
    .join('\n'),
};

/** The unique columns of each table; see migration 10. */
const UNIQUE_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  retrieval_batches: ['ledger_entry', 'first'],
  retrieval_leaves: ['retrieval'],
};

/**
 * The ledger covers retrievals in batches: one entry `retrievals.recorded` for each batch, with the root of the tree of
 * its retrievals' leaves. The leaves are stored, so that a changed retrieval can be identified and one can be proven
 * without the others. The counter holds the id of the last retrieval before this migration; those are covered when the
 * archive is opened.
 */
const retrievalsInTheLedger: Migration = {
  number: 11,
  sql: `
CREATE TABLE retrieval_batches (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  first INTEGER NOT NULL UNIQUE CHECK (first >= 1),
  last INTEGER NOT NULL CHECK (last >= first),
  root TEXT NOT NULL CHECK (length(root) = 64)
) STRICT;
CREATE TABLE retrieval_leaves (
  retrieval INTEGER PRIMARY KEY CHECK (retrieval >= 1),
  leaf BLOB NOT NULL CHECK (length(leaf) = 32)
) STRICT;
${Object.entries(UNIQUE_COLUMNS).map(appendOnly).join('')}
INSERT INTO counters SELECT 'retrievals_to_cover', coalesce(max(id), 0) FROM retrievals;
`,
};

function appendOnly([table, columns]: [string, readonly string[]]): string {
  const isThere = columns
    .map((column) => `EXISTS (SELECT 1 FROM ${table} WHERE ${column} = NEW.${column})`)
    .join(' OR ');
  return `
CREATE TRIGGER ${table}_refuses_update BEFORE UPDATE ON ${table} BEGIN SELECT RAISE(ABORT, '${table} is append-only'); END;
CREATE TRIGGER ${table}_refuses_delete BEFORE DELETE ON ${table} BEGIN SELECT RAISE(ABORT, '${table} is append-only'); END;
CREATE TRIGGER ${table}_refuses_replace BEFORE INSERT ON ${table} WHEN ${isThere}
  BEGIN SELECT RAISE(ABORT, '${table} is append-only: there is such a row'); END;`;
}

/** The changes of the node's key; `record` is what the ledger recorded, as JSON. Append-only. */
const keyChanges: Migration = {
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

/**
 * Whether connections to private addresses are allowed for a source, as decided when its owner added it. Null for sources
 * that were added before, imported or restored: then they are allowed only if the URL itself has a private address.
 */
const privateSources: Migration = {
  number: 14,
  sql: 'ALTER TABLE sources ADD COLUMN allow_private INTEGER CHECK (allow_private IN (0, 1));',
};

/**
 * The owner's sessions expire when unused. Each has the time of its last use (updated at most once an hour), a public id
 * for ending it, and the name of its browser. Existing sessions count as used at the time of this migration.
 */
const ownerSessions: Migration = {
  number: 15,
  sql: `
CREATE TABLE owner_sessions_with_use (
  token_sha256 TEXT PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  created_at TEXT NOT NULL,
  last_used_at TEXT NOT NULL,
  label TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO owner_sessions_with_use (token_sha256, id, created_at, last_used_at, label)
  SELECT token_sha256, 'se_' || lower(hex(randomblob(10))), created_at, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), ''
  FROM owner_sessions;
DROP TABLE owner_sessions;
ALTER TABLE owner_sessions_with_use RENAME TO owner_sessions;
`,
};

/** The timeline is counted in memory (`eventColumns.ts`); ranks in the database are needed no more. */
const noEventMarks: Migration = {
  number: 16,
  sql: `
DROP TRIGGER events_are_ranked;
DROP TABLE event_marks;
`,
};

/**
 * `event_noise.change` grows with every write, so that the timeline in memory finds what it has not read yet.
 *
 * Which events the owner has seen: all up to the counter `events_seen_until`, except that `seen_exceptions` reverses the
 * state of single events. Everything that an existing archive holds counts as seen.
 */
const noiseAndSeenMarks: Migration = {
  number: 17,
  sql: `
ALTER TABLE event_noise ADD COLUMN change INTEGER NOT NULL DEFAULT 0;
CREATE INDEX event_noise_by_change ON event_noise (change);

INSERT INTO counters SELECT 'events_seen_until', coalesce(max(id), 0) FROM events;
CREATE TABLE seen_exceptions (event INTEGER PRIMARY KEY) STRICT;
`,
};

/**
 * What each change changed, in a few words. Derived: in no dump and no ledger entry. A row is valid only under the noise
 * rules that it was made with; a null summary means that there is nothing to say. The counter `events_summarized` is the
 * id of the last event that was summarized when it was recorded; older ones are summarized when they are listed.
 */
const eventSummaries: Migration = {
  number: 18,
  sql: `
CREATE TABLE event_summaries (
  event INTEGER PRIMARY KEY REFERENCES events (id),
  summary TEXT,
  rules_digest TEXT
) STRICT;
INSERT INTO counters SELECT 'events_summarized', coalesce(max(id), 0) FROM events;
`,
};

export const MIGRATIONS_5_TO_18: readonly Migration[] = [
  derived,
  noise,
  captures,
  requests,
  fixity,
  noReplace,
  retrievalsInTheLedger,
  keyChanges,
  privateSources,
  ownerSessions,
  noEventMarks,
  noiseAndSeenMarks,
  eventSummaries,
];
