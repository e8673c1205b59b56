import type { Migration } from '../migration.ts';

/**
 * Drafts into which a record of a repository is being imported: the address of the record, so that the import can go on in
 * the same draft. A row is deleted when every file has come. Like drafts, they are in no dump.
 */
export const migration: Migration = {
  number: 58,
  sql: `
CREATE TABLE draft_imports (
  draft TEXT PRIMARY KEY REFERENCES drafts (id) ON DELETE CASCADE,
  address TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX draft_imports_by_address ON draft_imports (address);
`,
};
