import type { Migration } from '../migration.ts';

/**
 * Whether a source may be at a private address, as it was decided when its owner added it. Null for those that were
 * added before, imported or restored: then its address itself says so, and a name that anybody could own may not.
 */
export const migration: Migration = {
  number: 14,
  sql: 'ALTER TABLE sources ADD COLUMN allow_private INTEGER CHECK (allow_private IN (0, 1));',
};
