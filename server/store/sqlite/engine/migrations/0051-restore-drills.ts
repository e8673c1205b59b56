import type { Migration } from '../migration.ts';

/**
 * Restore drills. `last_drill` and `proven_drill`: the last drill of a copy, and the last that succeeded, as JSON.
 * `drill_failing_since`: when the drills began to fail for the reason of the last one; null if it succeeded. Like audits,
 * they concern this machine: they are in no dump, and the ledger does not cover them.
 */
export const migration: Migration = {
  number: 51,
  sql: `
ALTER TABLE copies ADD COLUMN last_drill TEXT;
ALTER TABLE copies ADD COLUMN proven_drill TEXT;
ALTER TABLE copies ADD COLUMN drill_failing_since TEXT;
`,
};
