import type { Migration } from '../migration.ts';

/**
 * Withheld objects in copies with pages for readers, and what mirrors know of their peers.
 *
 * `copies.is_sending`: 1 from before a sync sends anything until everything that it had to remove is gone. A sync of an
 * earlier version may have been killed, so copies that exist begin with 1. `recipient`: whom the encrypted objects of a
 * copy are encrypted to. `kept_recipient`: the one whose identity is in its file of the key. `withheld_cleaned`: how many
 * objects the copy had in the clear and no longer has.
 *
 * `peers.withheld_size`: the size of the peer's ledger up to which its withholdings were followed. `peer_withholdings`: those
 * that were followed, by the subject of the peer's entry; `withholding` is the one that this archive made of it.
 * `absent_objects`: objects of mirrored records whose bytes the peer did not give, because it withholds or released them.
 */
export const migration: Migration = {
  number: 45,
  sql: `
ALTER TABLE copies ADD COLUMN is_sending INTEGER NOT NULL DEFAULT 0 CHECK (is_sending IN (0, 1));
UPDATE copies SET is_sending = 1;
ALTER TABLE copies ADD COLUMN recipient TEXT;
ALTER TABLE copies ADD COLUMN kept_recipient TEXT;
ALTER TABLE copies ADD COLUMN withheld_cleaned INTEGER NOT NULL DEFAULT 0;
CREATE INDEX copied_withheld_files ON copied_files (copy, path) WHERE path GLOB 'withheld/*';

ALTER TABLE peers ADD COLUMN withheld_size INTEGER NOT NULL DEFAULT 0;
CREATE TABLE peer_withholdings (
  peer TEXT NOT NULL REFERENCES peers (id) ON DELETE CASCADE,
  subject TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('withheld', 'released')),
  entry INTEGER NOT NULL,
  withholding INTEGER NOT NULL REFERENCES withholdings (ledger_entry),
  PRIMARY KEY (peer, kind, subject)
) STRICT, WITHOUT ROWID;

CREATE TABLE absent_objects (
  sha256 TEXT PRIMARY KEY REFERENCES blobs (sha256),
  peer TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('withheld', 'released')),
  reason TEXT NOT NULL,
  since TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`,
};
