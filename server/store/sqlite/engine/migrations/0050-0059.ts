import type { Migration } from '../migration.ts';

/**
 * The part of a source that is watched. `sources.watch` is part of the record of a source and in dumps; `rules_digest` is
 * then of both the part and the noise rules. `event_noise.outside`: nothing changed in that part.
 *
 * `watch_sought` is the object in which the part was last looked for, and `watch_lost_at` since when it is not in the
 * newest. Both are derived: null means that it was not looked for yet.
 *
 * `alert_confirmations`: changes that an alert rule with `confirm` matched, and when their source is fetched again.
 */
const watchedParts: Migration = {
  number: 50,
  sql: `
ALTER TABLE sources ADD COLUMN watch TEXT;
ALTER TABLE sources ADD COLUMN watch_sought TEXT;
ALTER TABLE sources ADD COLUMN watch_lost_at TEXT;
CREATE INDEX sources_with_watch ON sources (key) WHERE watch IS NOT NULL;
ALTER TABLE event_noise ADD COLUMN outside INTEGER NOT NULL DEFAULT 0 CHECK (outside IN (0, 1));
CREATE INDEX event_noise_outside ON event_noise (event) WHERE outside = 1;
CREATE TABLE alert_confirmations (
  rule TEXT NOT NULL,
  event INTEGER NOT NULL,
  due_at TEXT NOT NULL,
  PRIMARY KEY (rule, event)
) STRICT, WITHOUT ROWID;
CREATE INDEX alert_confirmations_due ON alert_confirmations (due_at);
`,
};

/**
 * Restore drills. `last_drill` and `proven_drill`: the last drill of a copy, and the last that succeeded, as JSON.
 * `drill_failing_since`: when the drills began to fail for the reason of the last one; null if it succeeded. Like audits,
 * they concern this machine: they are in no dump, and the ledger does not cover them.
 */
const restoreDrills: Migration = {
  number: 51,
  sql: `
ALTER TABLE copies ADD COLUMN last_drill TEXT;
ALTER TABLE copies ADD COLUMN proven_drill TEXT;
ALTER TABLE copies ADD COLUMN drill_failing_since TEXT;
`,
};

/**
 * Sealed findings. The entry of the ledger has the commitment, the id and the time. `sealed_texts` has the records in the
 * clear until they are revealed. It is in no dump: a dump has `encrypted`, which is never changed.
 */
const sealedFindings: Migration = {
  number: 52,
  sql: `
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
${['sealed_findings', 'revealed_findings']
  .flatMap((table) => ['UPDATE', 'DELETE'].map((change) => refusal(table, change)))
  .join('')}`,
};

function refusal(table: string, change: string): string {
  return `CREATE TRIGGER ${table}_refuses_${change.toLowerCase()} BEFORE ${change} ON ${table}
  BEGIN SELECT RAISE(ABORT, 'what the ledger records is never changed'); END;
`;
}

/**
 * Seen by two at one moment. `signed_observations`: what a peer signed for this node, and what this node signed for a peer;
 * `record` is the canonical JSON that the ledger entry covers. `source_observers`: which peers are asked when a source
 * changes, and how the last request ended. `peers.observe_per_day`: how many addresses this node fetches for a peer in a day;
 * 0 for none. The last two are choices of the owner, like the peers themselves: they are in no dump.
 */
const signedObservations: Migration = {
  number: 53,
  sql: `
CREATE TABLE signed_observations (
  ledger_entry INTEGER PRIMARY KEY,
  record TEXT NOT NULL
) STRICT;
CREATE INDEX signed_observations_by_nonce
  ON signed_observations (json_extract(record, '$.nonce'), json_extract(record, '$.role'));
CREATE INDEX signed_observations_by_event ON signed_observations (json_extract(record, '$.event'))
  WHERE json_extract(record, '$.event') IS NOT NULL;
CREATE INDEX signed_observations_answered
  ON signed_observations (json_extract(record, '$.peer.key'), json_extract(record, '$.at'))
  WHERE json_extract(record, '$.role') = 'answered';
CREATE TABLE source_observers (
  source_key INTEGER NOT NULL,
  peer TEXT NOT NULL REFERENCES peers (id) ON DELETE CASCADE,
  asked_at TEXT,
  error TEXT,
  PRIMARY KEY (source_key, peer)
) STRICT, WITHOUT ROWID;
ALTER TABLE peers ADD COLUMN observe_per_day INTEGER NOT NULL DEFAULT 0 CHECK (observe_per_day >= 0);
`,
};

/**
 * Repositories in which packs are deposited, and the deposits. `state`: `sending`, `draft`, `published` or `failed`.
 * `remote`: the id that the repository gave. `may_exist`: 1 if a request that creates the deposit there may have been sent
 * and its answer is not known. Tokens are not here. Like copies, they concern this machine: they are in no dump, and the
 * ledger does not cover them.
 */
const deposits: Migration = {
  number: 56,
  sql: `
CREATE TABLE deposit_repositories (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  url TEXT NOT NULL,
  community TEXT,
  added_at TEXT NOT NULL
) STRICT;

CREATE TABLE deposits (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  pack TEXT NOT NULL,
  repository TEXT NOT NULL,
  repository_kind TEXT NOT NULL,
  repository_url TEXT NOT NULL,
  publish INTEGER NOT NULL,
  state TEXT NOT NULL,
  remote TEXT,
  may_exist INTEGER NOT NULL DEFAULT 0,
  url TEXT,
  doi TEXT,
  in_review INTEGER NOT NULL DEFAULT 0,
  files INTEGER NOT NULL DEFAULT 0,
  compared INTEGER NOT NULL DEFAULT 0,
  error TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  published_at TEXT,
  UNIQUE (pack, repository)
) STRICT;
`,
};

/**
 * Sets: data of more than one pack. `packs.part_of` is the id of the set that a pack says it is a part of, as
 * `setOfPart` reads it from the record; null for a pack of its own. `sets` and `set_parts` repeat what the manifests
 * say, so that a list shows the size of a set without reading its file; `crcs` are the CRC-32s of its files, in the order
 * of their paths, which its ZIP needs. Both are derived and in no dump. `draft_parts` are the parts that the publishing
 * of a draft has finished, for the revision that it publishes; `piece` is the digest of a part that is a piece of a file.
 */
const sets: Migration = {
  number: 57,
  sql: `
ALTER TABLE packs ADD COLUMN part_of TEXT;
UPDATE packs SET part_of = (
  SELECT substr(r.record ->> '$.related[0].identifier', 8) FROM pack_records r
  WHERE r.ledger_entry = packs.ledger_entry
    AND r.record -> '$.keywords' = '["strongroom-set-part@1"]'
    AND json_array_length(r.record, '$.related') = 1
    AND r.record ->> '$.related[0].relation' = 'IsPartOf'
    AND r.record ->> '$.related[0].identifier' LIKE 'sha256:%'
    AND length(r.record ->> '$.related[0].identifier') = 71
    AND r.record ->> '$.related[0].identifier' NOT GLOB 'sha256:*[^0-9a-f]*'
    AND r.record ->> '$.node' IS NULL
) WHERE study IS NULL AND replicates IS NULL AND supersedes IS NULL;
CREATE INDEX packs_that_are_parts ON packs (ledger_entry) WHERE part_of IS NOT NULL;

CREATE TABLE sets (
  ledger_entry INTEGER PRIMARY KEY REFERENCES packs (ledger_entry),
  files INTEGER NOT NULL CHECK (files > 0),
  packs INTEGER NOT NULL CHECK (packs >= 0),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  crcs BLOB
) STRICT;
CREATE TABLE set_parts (
  part TEXT NOT NULL,
  manifest INTEGER NOT NULL REFERENCES sets (ledger_entry),
  PRIMARY KEY (part, manifest)
) STRICT, WITHOUT ROWID;
CREATE INDEX set_parts_by_manifest ON set_parts (manifest);
CREATE TABLE draft_parts (
  draft TEXT NOT NULL REFERENCES drafts (id) ON DELETE CASCADE,
  revision INTEGER NOT NULL,
  position INTEGER NOT NULL,
  pack TEXT NOT NULL,
  piece TEXT,
  PRIMARY KEY (draft, revision, position)
) STRICT, WITHOUT ROWID;

DROP TRIGGER texts_of_pack_files_are_wanted;
CREATE TRIGGER texts_of_pack_files_are_wanted AFTER INSERT ON pack_files
  WHEN NEW.bytes > 0 AND NOT (NEW.media_type LIKE 'image/%' OR NEW.media_type LIKE 'audio/%'
    OR NEW.media_type LIKE 'video/%' OR NEW.media_type LIKE 'font/%')
    AND (SELECT part_of FROM packs WHERE ledger_entry = NEW.pack) IS NULL BEGIN
  INSERT OR IGNORE INTO wanted_texts SELECT min(0,
      coalesce((SELECT min(key) FROM wanted_texts), 0), coalesce((SELECT min(key) FROM indexed_texts), 0)
    ) - 1, 0, NEW.sha256
    WHERE NOT EXISTS (SELECT 1 FROM indexed_texts WHERE source_key = 0 AND sha256 = NEW.sha256);
END;
`,
};

/**
 * Drafts into which a record of a repository is being imported: the address of the record, so that the import can go on in
 * the same draft. A row is deleted when every file has come. Like drafts, they are in no dump.
 */
const draftImports: Migration = {
  number: 58,
  sql: `
CREATE TABLE draft_imports (
  draft TEXT PRIMARY KEY REFERENCES drafts (id) ON DELETE CASCADE,
  address TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX draft_imports_by_address ON draft_imports (address);
`,
};

/**
 * Where packs were published, as the ledger records it: by this node, or by the peer that `pack_provenance` names for the
 * same entry. `deposits.ledger_entry` is that entry. Deposits that were published before this migration have none yet; the
 * node records them when it opens the archive.
 */
const packDeposits: Migration = {
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

export const MIGRATIONS_50_TO_59: readonly Migration[] = [
  watchedParts,
  restoreDrills,
  sealedFindings,
  signedObservations,
  deposits,
  sets,
  draftImports,
  packDeposits,
];
