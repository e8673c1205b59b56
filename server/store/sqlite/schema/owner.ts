/**
 * Who may read and write. A session is a public key of a page and the origin of that page; behind plain HTTP, `port` is the
 * port at which the node listened, else 0. `last_used_at` is updated at most once an hour; `label` is the name of the browser.
 * `paired_browsers` have the extension. Of a token only the digest is stored.
 */
const ACCESS = `
CREATE TABLE owner_sessions (
  id TEXT PRIMARY KEY,
  public_key TEXT NOT NULL UNIQUE,
  origin TEXT NOT NULL,
  port INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  last_used_at TEXT NOT NULL,
  label TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE paired_browsers (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  token_sha256 TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  created_at TEXT NOT NULL,
  last_used_at TEXT
) STRICT;

CREATE TABLE invitations (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  token_sha256 TEXT NOT NULL UNIQUE CHECK (length(token_sha256) = 64),
  created_at TEXT NOT NULL,
  last_used_at TEXT,
  writes INTEGER NOT NULL DEFAULT 0
) STRICT;
`;

/**
 * The counts of visitors' writes. `write_day` has one row, which is overwritten with a new key each day. Without the old key,
 * no address can be linked to yesterday's counts. `write_counts` has a row for each hour with writes; `who` is the keyed hash
 * of an address, or empty for the total.
 */
const WRITES = `
CREATE TABLE write_day (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  day TEXT NOT NULL,
  key TEXT NOT NULL CHECK (length(key) = 64)
) STRICT;

CREATE TABLE write_counts (
  who TEXT NOT NULL,
  hour INTEGER NOT NULL CHECK (hour BETWEEN 0 AND 23),
  writes INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (who, hour)
) STRICT, WITHOUT ROWID;
`;

/**
 * `alert_rules`: what to alert about, as JSON of `when`, `to` and `every`. `alert_notices`: what a rule was found to match,
 * once per subject; those of a digest have the time at which it is due. `alert_deliveries`: one message to one target, with
 * what it is about (the first of `count` notices) and, from its first attempt on, its text. `alert_conditions`: states of the
 * node that hold now. `alert_confirmations`: changes that a rule with `confirm` matched, and when their source is fetched
 * again.
 */
const ALERTS = `
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

CREATE TABLE alert_confirmations (
  rule TEXT NOT NULL,
  event INTEGER NOT NULL,
  due_at TEXT NOT NULL,
  PRIMARY KEY (rule, event)
) STRICT, WITHOUT ROWID;
CREATE INDEX alert_confirmations_due ON alert_confirmations (due_at);
`;

/** The tables of the owner: sessions, invitations, alerts. */
export const OWNER_TABLES: string = ACCESS + WRITES + ALERTS;
