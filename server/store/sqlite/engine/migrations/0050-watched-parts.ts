import type { Migration } from '../migration.ts';

/**
 * The part of a source that is watched. `sources.watch` is part of the record of a source and in dumps; `rules_digest` is
 * then of both the part and the noise rules. `event_noise.outside`: nothing changed in that part.
 *
 * `watch_sought` is the object in which the part was last looked for, and `watch_lost_at` since when it is not in the
 * newest. Both are derived: null means that it was not looked for yet.
 *
 * `alert_confirmations`: changes that an alert rule with `confirm` matched, and when their source is fetched again.
 */
export const migration: Migration = {
  number: 50,
  sql: `
ALTER TABLE sources ADD COLUMN watch TEXT;
ALTER TABLE sources ADD COLUMN watch_sought TEXT;
ALTER TABLE sources ADD COLUMN watch_lost_at TEXT;
CREATE INDEX sources_with_watch ON sources (key) WHERE watch IS NOT NULL;
ALTER TABLE event_noise ADD COLUMN outside INTEGER NOT NULL DEFAULT 0 CHECK (outside IN (0, 1));
CREATE INDEX event_noise_outside ON event_noise (event) WHERE outside = 1;
CREATE TABLE alert_confirmations (
  rule TEXT NOT NULL,
  event INTEGER NOT NULL,
  due_at TEXT NOT NULL,
  PRIMARY KEY (rule, event)
) STRICT, WITHOUT ROWID;
CREATE INDEX alert_confirmations_due ON alert_confirmations (due_at);
`,
};
