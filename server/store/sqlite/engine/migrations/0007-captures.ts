import type { Migration } from '../migration.ts';

/**
 * Captures by third parties. The table holds the identity of WARC records, so that a later file can refer to them. The
 * indexes find existing captures and the newest version by each observer. They cover only captures, so the node's own
 * observations cost nothing here.
 */
export const migration: Migration = {
  number: 7,
  sql: `
CREATE TABLE captures (
  retrieval INTEGER PRIMARY KEY REFERENCES retrievals (id),
  record_id TEXT,
  payload_digest TEXT
) STRICT;
CREATE INDEX captures_by_record ON captures (record_id) WHERE record_id IS NOT NULL;
CREATE INDEX captures_by_payload ON captures (payload_digest) WHERE payload_digest IS NOT NULL;
CREATE TRIGGER captures_refuse_update BEFORE UPDATE ON captures BEGIN SELECT RAISE(ABORT, 'captures are append-only'); END;
CREATE TRIGGER captures_refuse_delete BEFORE DELETE ON captures BEGIN SELECT RAISE(ABORT, 'captures are append-only'); END;
CREATE INDEX retrievals_by_capture ON retrievals (source_key, original_observed_at, observer, sha256)
  WHERE original_observed_at IS NOT NULL;
CREATE INDEX events_by_capture ON events (source_key, observer, id) WHERE original_observed_at IS NOT NULL;
`,
};
