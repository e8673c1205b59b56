import type { Migration } from '../migration.ts';

/**
 * Profiles: the cookies and the storage of one site, with which sources are watched that need a login. `sealed` is
 * encrypted with a key that is not in the database. `version` counts how often the owner replaced it, so that a check that
 * began before does not write the cookies of the old login over the new.
 *
 * `sources.needs_login` is part of the record of a source and in dumps; `profile` is neither. A source that needs a login
 * and has no profile, because it was deleted or not restored, is not fetched. `login_expired_at`: since when the site no
 * longer accepts the profile for this source.
 */
export const migration: Migration = {
  number: 48,
  sql: `
CREATE TABLE profiles (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  site TEXT NOT NULL,
  sealed BLOB NOT NULL,
  version INTEGER NOT NULL DEFAULT 1,
  cookies INTEGER NOT NULL,
  storage_items INTEGER NOT NULL,
  expires_at TEXT,
  created_at TEXT NOT NULL,
  replaced_at TEXT,
  state TEXT NOT NULL CHECK (state IN ('untried', 'works', 'expired', 'unreadable')),
  last_used_at TEXT,
  expired_at TEXT,
  expired_reason TEXT,
  expired_source TEXT
) STRICT;
ALTER TABLE sources ADD COLUMN needs_login INTEGER NOT NULL DEFAULT 0 CHECK (needs_login IN (0, 1));
ALTER TABLE sources ADD COLUMN profile TEXT;
ALTER TABLE sources ADD COLUMN login_expired_at TEXT;
CREATE INDEX withholdings_by_retrieval ON withholdings (retrieval) WHERE retrieval IS NOT NULL;
CREATE INDEX sources_by_profile ON sources (profile) WHERE profile IS NOT NULL;
`,
};
