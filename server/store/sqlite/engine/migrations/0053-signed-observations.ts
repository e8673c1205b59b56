import type { Migration } from '../migration.ts';

/**
 * Seen by two at one moment. `signed_observations`: what a peer signed for this node, and what this node signed for a peer;
 * `record` is the canonical JSON that the ledger entry covers. `source_observers`: which peers are asked when a source
 * changes, and how the last request ended. `peers.observe_per_day`: how many addresses this node fetches for a peer in a day;
 * 0 for none. The last two are choices of the owner, like the peers themselves: they are in no dump.
 */
export const migration: Migration = {
  number: 53,
  sql: `
CREATE TABLE signed_observations (
  ledger_entry INTEGER PRIMARY KEY,
  record TEXT NOT NULL
) STRICT;
CREATE INDEX signed_observations_by_nonce
  ON signed_observations (json_extract(record, '$.nonce'), json_extract(record, '$.role'));
CREATE INDEX signed_observations_by_event ON signed_observations (json_extract(record, '$.event'))
  WHERE json_extract(record, '$.event') IS NOT NULL;
CREATE INDEX signed_observations_answered
  ON signed_observations (json_extract(record, '$.peer.key'), json_extract(record, '$.at'))
  WHERE json_extract(record, '$.role') = 'answered';
CREATE TABLE source_observers (
  source_key INTEGER NOT NULL,
  peer TEXT NOT NULL REFERENCES peers (id) ON DELETE CASCADE,
  asked_at TEXT,
  error TEXT,
  PRIMARY KEY (source_key, peer)
) STRICT, WITHOUT ROWID;
ALTER TABLE peers ADD COLUMN observe_per_day INTEGER NOT NULL DEFAULT 0 CHECK (observe_per_day >= 0);
`,
};
