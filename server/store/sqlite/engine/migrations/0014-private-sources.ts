import type { Migration } from '../migration.ts';

/**
 * Whether connections to private addresses are allowed for a source, as decided when its owner added it. Null for sources
 * that were added before, imported or restored: then they are allowed only if the URL itself has a private address.
 */
export const migration: Migration = {
  number: 14,
  sql: 'ALTER TABLE sources ADD COLUMN allow_private INTEGER CHECK (allow_private IN (0, 1));',
};
