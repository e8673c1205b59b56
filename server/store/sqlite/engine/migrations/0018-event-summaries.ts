import type { Migration } from '../migration.ts';

/**
 * What each change changed, in a few words. Derived: in no dump and no ledger entry. A row is valid only under the noise
 * rules that it was made with; a null summary means that there is nothing to say. The counter `events_summarized` is the
 * id of the last event that was summarized when it was recorded; older ones are summarized when they are listed.
 */
export const migration: Migration = {
  number: 18,
  sql: `
CREATE TABLE event_summaries (
  event INTEGER PRIMARY KEY REFERENCES events (id),
  summary TEXT,
  rules_digest TEXT
) STRICT;
INSERT INTO counters SELECT 'events_summarized', coalesce(max(id), 0) FROM events;
`,
};
