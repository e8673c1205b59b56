import type { Migration } from '../migration.ts';

/**
 * What was sent for each attempt (null for those before this step), and what giving back finds attempts by: all of them
 * in the order of time, and the observations of a source by the moment that they show, which is the capture's own where
 * a third party made it.
 */
export const migration: Migration = {
  number: 8,
  sql: `
ALTER TABLE retrievals ADD COLUMN request TEXT;
CREATE INDEX retrievals_by_time ON retrievals (observed_at, id);
CREATE INDEX observations_by_moment ON retrievals (source_key, coalesce(original_observed_at, observed_at), id)
  WHERE sha256 IS NOT NULL AND error IS NULL;
`,
};
