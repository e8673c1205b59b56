import type { Migration } from '../migration.ts';

/**
 * Pages for readers in a copy. `pages` says whether the owner wants them, `public_url` where readers find them.
 * `pages_size` is the size of the ledger that the pages in the copy show, 0 if they are to be written anew;
 * `pages_version` is the version of their design.
 */
export const migration: Migration = {
  number: 30,
  sql: `
ALTER TABLE copies ADD COLUMN pages INTEGER NOT NULL DEFAULT 0 CHECK (pages IN (0, 1));
ALTER TABLE copies ADD COLUMN public_url TEXT;
ALTER TABLE copies ADD COLUMN pages_size INTEGER NOT NULL DEFAULT 0;
ALTER TABLE copies ADD COLUMN pages_version INTEGER NOT NULL DEFAULT 0;
`,
};
