import type { Migration } from '../migration.ts';

/** `copies.synced_state` is the digest of the file `state/<size>.jsonl` that the last sync wrote; NULL if it is not known. */
export const migration: Migration = {
  number: 38,
  sql: 'ALTER TABLE copies ADD COLUMN synced_state TEXT;',
};
