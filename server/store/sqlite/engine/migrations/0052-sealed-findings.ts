import type { Migration } from '../migration.ts';

/**
 * Sealed findings. The entry of the ledger has the commitment, the id and the time. `sealed_texts` has the records in the
 * clear until they are revealed. It is in no dump: a dump has `encrypted`, which is never changed.
 */
export const migration: Migration = {
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
