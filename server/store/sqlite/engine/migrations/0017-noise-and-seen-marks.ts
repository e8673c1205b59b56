import type { Migration } from '../migration.ts';

/**
 * `event_noise.change` grows with every write, so that the timeline in memory finds what it has not read yet.
 *
 * Which events the owner has seen: all up to the counter `events_seen_until`, except that `seen_exceptions` reverses the
 * state of single events. Everything that an existing archive holds counts as seen.
 */
export const migration: Migration = {
  number: 17,
  sql: `
ALTER TABLE event_noise ADD COLUMN change INTEGER NOT NULL DEFAULT 0;
CREATE INDEX event_noise_by_change ON event_noise (change);

INSERT INTO counters SELECT 'events_seen_until', coalesce(max(id), 0) FROM events;
CREATE TABLE seen_exceptions (event INTEGER PRIMARY KEY) STRICT;
`,
};
