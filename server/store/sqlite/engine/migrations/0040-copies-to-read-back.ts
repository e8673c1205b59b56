import type { Migration } from '../migration.ts';

/**
 * `copies.must_read_back` is 1 for a bucket that holds a large object which was not read back yet: earlier versions could
 * lose a part of such an object while they sent it (objects above 8 MiB are sent in parts). The next complete check
 * resets it. `copies.owner_token` is the random token that identifies the data folder which writes to a copy.
 */
export const migration: Migration = {
  number: 40,
  sql: `
ALTER TABLE copies RENAME COLUMN writer TO owner_token;
ALTER TABLE copies ADD COLUMN must_read_back INTEGER NOT NULL DEFAULT 0 CHECK (must_read_back IN (0, 1));
UPDATE copies SET must_read_back = 1 WHERE target LIKE 's3:%' AND EXISTS (
  SELECT 1 FROM copied_objects c JOIN blobs b ON b.sha256 = c.sha256
  WHERE c.copy = copies.id AND c.checked_at IS NULL AND b.bytes > 8388608);
`,
};
