import type { Migration } from '../migration.ts';

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
export const migration: Migration = {
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
