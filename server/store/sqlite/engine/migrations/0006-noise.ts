import type { Migration } from '../migration.ts';

/**
 * What of a source's versions is no news, by the owner's rules: `noise_rules` is null where there are none, and
 * `rules_digest` is what that set of rules is known by.
 *
 * `event_noise` says of an event whether the rules explain all that changed. It stands beside the events, which are
 * never altered, and counts only as long as its rules are those of its source. The counter `events_judged` is the
 * number of the last event that was looked at as it came.
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
