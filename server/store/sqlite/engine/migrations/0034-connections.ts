import type { Migration } from '../migration.ts';

/**
 * The connection of each retrieval (null for those before this migration), and the certificates that connections name.
 * Certificates are objects of the archive. Rows of retrievals stay as they are, so their leaves in the ledger do too.
 */
export const migration: Migration = {
  number: 34,
  sql: `
ALTER TABLE retrievals ADD COLUMN connection TEXT;
CREATE TABLE certificates (
  sha256 TEXT PRIMARY KEY REFERENCES blobs (sha256)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER certificates_are_objects AFTER INSERT ON certificates BEGIN
  INSERT INTO objects (sha256) VALUES (NEW.sha256) ON CONFLICT DO NOTHING;
END;
`,
};
