import type { Migration } from '../migration.ts';

/**
 * Noise rules: the owner's rules for insignificant changes of a source. `noise_rules` is null if there are none;
 * `rules_digest` identifies the set of rules.
 *
 * `event_noise` tells whether an event is only noise by its source's rules. It is a separate table because events are
 * never changed. A row is valid only as long as its rules are those of the source. The counter `events_judged` is the id
 * of the last event that was judged when it was recorded.
 */
export const migration: Migration = {
  number: 6,
  sql: `
ALTER TABLE sources ADD COLUMN noise_rules TEXT;
ALTER TABLE sources ADD COLUMN rules_digest TEXT;
CREATE INDEX sources_with_rules ON sources (key) WHERE rules_digest IS NOT NULL;

CREATE TABLE event_noise (
  event INTEGER PRIMARY KEY REFERENCES events (id),
  is_noise INTEGER NOT NULL CHECK (is_noise IN (0, 1)),
  rules_digest TEXT NOT NULL
) STRICT;

INSERT INTO counters SELECT 'events_judged', coalesce(max(id), 0) FROM events;
`,
};
