import type { Migration } from '../migration.ts';

/**
 * The certificate that is pinned for a peer whose address is https, as the SHA-256 of its DER in hex. `tls_seen` is another
 * one that the peer showed at the last contact; null if it showed the pinned one.
 */
export const migration: Migration = {
  number: 31,
  sql: `
ALTER TABLE peers ADD COLUMN tls_fingerprint TEXT CHECK (length(tls_fingerprint) = 64);
ALTER TABLE peers ADD COLUMN tls_seen TEXT CHECK (length(tls_seen) = 64);
`,
};
