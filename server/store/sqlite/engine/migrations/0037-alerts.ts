import type { Migration } from '../migration.ts';

/**
 * `alert_rules`: what to alert about, as JSON of `when`, `to` and `every`. `alert_notices`: what a rule was found to match,
 * once per subject; those of a digest have the time at which it is due. `alert_deliveries`: one message to one target, with
 * what it is about (the first of `count` notices) and, from its first attempt on, its text. `alert_conditions`: states of the node that hold now.
 */
export const migration: Migration = {
  number: 37,
  sql: `
CREATE TABLE alert_rules (
  id TEXT PRIMARY KEY CHECK (length(id) = 23),
  name TEXT NOT NULL,
  rule TEXT NOT NULL CHECK (json_valid(rule)),
  paused INTEGER NOT NULL CHECK (paused IN (0, 1)),
  created_at TEXT NOT NULL,
  active_since TEXT NOT NULL,
  after_event INTEGER NOT NULL,
  after_entry INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE alert_notices (
  id INTEGER PRIMARY KEY,
  rule TEXT NOT NULL REFERENCES alert_rules (id) ON DELETE CASCADE,
  subject TEXT NOT NULL,
  notice TEXT NOT NULL CHECK (json_valid(notice)),
  due_at TEXT,
  UNIQUE (rule, subject)
) STRICT;
CREATE INDEX alert_notices_due ON alert_notices (due_at, rule) WHERE due_at IS NOT NULL;

CREATE TABLE alert_deliveries (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE CHECK (length(id) = 23),
  rule TEXT NOT NULL,
  rule_name TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('desktop', 'email', 'webhook')),
  target TEXT NOT NULL CHECK (json_valid(target)),
  notices TEXT NOT NULL CHECK (json_valid(notices)),
  count INTEGER NOT NULL CHECK (count > 0),
  state TEXT NOT NULL CHECK (state IN ('waiting', 'sending', 'sent', 'failed')),
  test INTEGER NOT NULL CHECK (test IN (0, 1)),
  created_at TEXT NOT NULL,
  due_at TEXT NOT NULL,
  gives_up_at TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  sent_at TEXT,
  error TEXT,
  message TEXT CHECK (message IS NULL OR json_valid(message))
) STRICT;
CREATE INDEX alert_deliveries_due ON alert_deliveries (due_at) WHERE state = 'waiting';
CREATE INDEX alert_deliveries_by_state ON alert_deliveries (state, number);
CREATE INDEX alert_deliveries_by_rule ON alert_deliveries (rule, number);

CREATE TABLE alert_conditions (
  name TEXT PRIMARY KEY,
  since TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`,
};
