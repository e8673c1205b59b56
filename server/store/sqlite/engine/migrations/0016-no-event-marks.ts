import type { Migration } from '../migration.ts';

/** The timeline is counted in memory (`eventColumns.ts`); ranks in the database are needed no more. */
export const migration: Migration = {
  number: 16,
  sql: `
DROP TRIGGER events_are_ranked;
DROP TABLE event_marks;
`,
};
