import type { Migration } from '../migration.ts';

/**
 * The request of each retrieval (null for those before this migration), and indexes for exports and mementos: all
 * retrievals by time, and the observations of a source by their moment, which is the capture's own time for captures by
 * third parties.
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
