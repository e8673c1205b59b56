import type { Migration } from '../migration.ts';

/**
 * The unique columns of each append-only table. `INSERT OR REPLACE` deletes conflicting rows without firing the triggers
 * that refuse DELETE (https://sqlite.org/lang_conflict.html), so these triggers refuse the INSERT.
 */
const UNIQUE_COLUMNS: Readonly<Record<string, readonly string[]>> = {
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

export const migration: Migration = {
  number: 10,
  sql: Object.entries(UNIQUE_COLUMNS)
    .map(
      ([table, columns]) => `
CREATE TRIGGER ${table}_refuses_replace BEFORE INSERT ON ${table}
  WHEN ${columns.map((column) => `EXISTS (SELECT 1 FROM ${table} WHERE ${column} = NEW.${column})`).join(' OR ')}
  BEGIN SELECT RAISE(ABORT, '${table} is append-only: there is such a row'); END;`,
    )
    .join('\n'),
};
