import type { Migration } from '../migration.ts';

/**
 * Pages as a browser drew them. A row of `page_captures` holds the canonical JSON that its ledger entry covers, with the
 * list of requests by itself because lists do not read it; the columns for look-ups are generated from it.
 *
 * `retrievals.part_of` is the page capture that a retrieval belongs to. Such a retrieval is no check or version of its
 * source, so the indexes for those leave it out: a page source has a hundred parts for each check. What a page showed has
 * no status; the other parts are answers by which a page is drawn again, and so are the failures of sources.
 */
export const migration: Migration = {
  number: 41,
  sql: `
ALTER TABLE sources ADD COLUMN capture TEXT NOT NULL DEFAULT 'object' CHECK (capture IN ('object', 'page'));
ALTER TABLE sources ADD COLUMN picture_events REAL;
ALTER TABLE sources ADD COLUMN page_error TEXT;
ALTER TABLE retrievals ADD COLUMN part_of TEXT;
ALTER TABLE events ADD COLUMN page TEXT;

CREATE TABLE page_captures (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  source_key INTEGER NOT NULL REFERENCES sources (key),
  record TEXT NOT NULL CHECK (json_valid(record)),
  requests TEXT NOT NULL CHECK (json_valid(requests)),
  id TEXT NOT NULL UNIQUE GENERATED ALWAYS AS (record ->> 'id') STORED,
  started_at TEXT NOT NULL GENERATED ALWAYS AS (record ->> 'started_at') STORED,
  retrieval INTEGER NOT NULL REFERENCES retrievals (id) GENERATED ALWAYS AS (record ->> 'retrieval') STORED,
  observer TEXT GENERATED ALWAYS AS (record ->> 'observer') STORED,
  request_count INTEGER NOT NULL GENERATED ALWAYS AS (json_array_length(requests)) STORED,
  -- Quotation marks inside a string are escaped, so this counts members only.
  missing INTEGER NOT NULL GENERATED ALWAYS AS (json_array_length(requests)
    - (length(requests) - length(replace(requests, '"reason":null', ''))) / length('"reason":null')) STORED
) STRICT;
CREATE INDEX page_captures_by_time ON page_captures (started_at, ledger_entry);
CREATE INDEX page_captures_by_source ON page_captures (source_key, started_at, ledger_entry);
CREATE TRIGGER page_captures_refuse_update BEFORE UPDATE ON page_captures BEGIN SELECT RAISE(ABORT, 'page captures are append-only'); END;
CREATE TRIGGER page_captures_refuse_delete BEFORE DELETE ON page_captures BEGIN SELECT RAISE(ABORT, 'page captures are append-only'); END;
CREATE TRIGGER page_captures_refuses_replace BEFORE INSERT ON page_captures
  WHEN EXISTS (SELECT 1 FROM page_captures WHERE ledger_entry = NEW.ledger_entry OR id = NEW.record ->> 'id')
  BEGIN SELECT RAISE(ABORT, 'page_captures is append-only: there is such a row'); END;

DROP INDEX retrievals_by_source;
CREATE INDEX retrievals_by_source ON retrievals (source_key, id) WHERE part_of IS NULL;
CREATE INDEX parts_by_source ON retrievals (source_key, id) WHERE part_of IS NOT NULL;
CREATE INDEX parts_by_page ON retrievals (part_of, id) WHERE part_of IS NOT NULL;
CREATE INDEX parts_by_url ON retrievals (url, coalesce(original_observed_at, observed_at))
  WHERE part_of IS NOT NULL AND status IS NOT NULL;
CREATE INDEX failures_by_moment ON retrievals (source_key, coalesce(original_observed_at, observed_at))
  WHERE part_of IS NULL AND error IS NOT NULL AND status IS NOT NULL;
DROP INDEX observations_by_moment;
CREATE INDEX observations_by_moment ON retrievals (source_key, coalesce(original_observed_at, observed_at), id)
  WHERE sha256 IS NOT NULL AND error IS NULL AND part_of IS NULL;
DROP TRIGGER observations_are_counted;
CREATE TRIGGER observations_are_counted AFTER INSERT ON retrievals
  WHEN NEW.sha256 IS NOT NULL AND NEW.error IS NULL AND NEW.part_of IS NULL BEGIN
  UPDATE counters SET value = value + 1 WHERE name = 'observations';
END;
`,
};
