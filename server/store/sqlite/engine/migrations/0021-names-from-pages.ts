import type { Migration } from '../migration.ts';

/** Sources that were added by a list without a name, and get the title of their page as their name. */
export const migration: Migration = {
  number: 21,
  sql: `
CREATE TABLE unnamed_sources (
  source_key INTEGER PRIMARY KEY REFERENCES sources (key)
) STRICT;
`,
};
