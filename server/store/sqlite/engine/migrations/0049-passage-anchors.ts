import type { Migration } from '../migration.ts';

/**
 * Where passages are in the texts that newer tools made of their objects. Derived: it can be made again from the texts and the
 * findings, so no dump has it.
 */
export const migration: Migration = {
  number: 49,
  sql: `
CREATE TABLE passage_anchors (
  ledger_entry INTEGER PRIMARY KEY REFERENCES findings (ledger_entry),
  tool TEXT NOT NULL,
  anchor TEXT NOT NULL
) STRICT;
`,
};
