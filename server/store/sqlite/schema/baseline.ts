import type { Migration } from '../engine/migration.ts';
import { COLLECTION_TABLES } from './collection.ts';
import { COPY_TABLES } from './copies.ts';
import { FINDING_TABLES } from './findings.ts';
import { LEDGER_TABLES } from './ledger.ts';
import { OBJECT_TABLES } from './objects.ts';
import { OWNER_TABLES } from './owner.ts';
import { PACK_TABLES } from './packs.ts';
import { PEER_TABLES } from './peers.ts';
import { TIMELINE_TABLES } from './timeline.ts';
import { WITHHELD_TABLES } from './withheld.ts';

/** `counters` are kept by triggers, in the transaction of what they count. `settings` has values as JSON. */
const COUNTERS_AND_SETTINGS = `
CREATE TABLE counters (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`;

/**
 * The tables whose rows never change, because the ledger covers them or what they belong to, each with its unique keys.
 */
const APPEND_ONLY: Readonly<Record<string, readonly string[]>> = {
  ledger: ['seq'],
  key_changes: ['ledger_entry'],
  object_damages: ['ledger_entry'],
  object_restorations: ['ledger_entry', 'damage'],
  nodes: ['ledger_entry', 'path'],
  study_statuses: ['ledger_entry'],
  pack_records: ['ledger_entry'],
  pack_files: ['pack, path'],
  pack_flags: ['ledger_entry'],
  comments: ['ledger_entry', 'id'],
  pack_deposits: ['ledger_entry'],
  pack_provenance: ['ledger_entry'],
  source_revisions: ['ledger_entry'],
  retrievals: ['id'],
  retrieval_batches: ['ledger_entry', 'first'],
  retrieval_leaves: ['retrieval'],
  captures: ['retrieval'],
  page_captures: ['ledger_entry', 'id'],
  hand_ins: ['ledger_entry', 'id', 'retrieval'],
  events: ['id', 'ledger_entry'],
  findings: ['ledger_entry', 'id', 'supersedes'],
  sealed_findings: ['ledger_entry', 'id'],
  revealed_findings: ['ledger_entry', 'sealed_entry'],
  withholdings: ['ledger_entry'],
  showings: ['ledger_entry', 'withheld'],
  releases: ['ledger_entry', 'sha256'],
  peer_rewrites: ['ledger_entry'],
  signed_observations: ['ledger_entry'],
};

/**
 * Returns the triggers that refuse every change of a table's rows. `INSERT OR REPLACE` deletes conflicting rows without firing
 * the triggers that refuse DELETE (https://sqlite.org/lang_conflict.html), so the INSERT is refused too.
 */
function refuseChanges([table, keys]: [string, readonly string[]]): string {
  const isThere = keys.map((key) => {
    const values = key.replaceAll(/\w+/g, 'NEW.$&');
    return `EXISTS (SELECT 1 FROM ${table} WHERE (${key}) = (${values}))`;
  });
  return `
CREATE TRIGGER ${table}_refuses_update BEFORE UPDATE ON ${table}
  BEGIN SELECT RAISE(ABORT, '${table} is append-only: its rows are never changed'); END;
CREATE TRIGGER ${table}_refuses_delete BEFORE DELETE ON ${table}
  BEGIN SELECT RAISE(ABORT, '${table} is append-only: its rows are never changed'); END;
CREATE TRIGGER ${table}_refuses_replace BEFORE INSERT ON ${table}
  WHEN ${isThere.join(' OR ')}
  BEGIN SELECT RAISE(ABORT, '${table} is append-only: there is such a row'); END;`;
}

/** The number of the baseline. Lower ones belong to states of the schema that no release had. */
export const BASELINE_NUMBER = 100;

/** The schema of version 1.0. Never edit it once that is released; a later schema is a migration of its own. */
export const BASELINE: Migration = {
  number: BASELINE_NUMBER,
  sql: [
    COUNTERS_AND_SETTINGS,
    LEDGER_TABLES,
    OBJECT_TABLES,
    PACK_TABLES,
    COLLECTION_TABLES,
    TIMELINE_TABLES,
    FINDING_TABLES,
    WITHHELD_TABLES,
    COPY_TABLES,
    PEER_TABLES,
    OWNER_TABLES,
    ...Object.entries(APPEND_ONLY).map(refuseChanges),
  ].join('\n'),
};
