import type { Migration } from '../migration.ts';

/**
 * The results of audits. Damages and restorations are append-only and in the ledger. Triggers maintain the currently
 * damaged blobs in `damaged_objects`; they also work in the order of a dump, all damages before all restorations. The
 * scheduled audit cycles through the blobs in the order of their digests, so the next one after `position` is the one
 * that was audited longest ago.
 */
export const migration: Migration = {
  number: 9,
  sql: `
CREATE TABLE object_damages (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  sha256 TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  problem TEXT NOT NULL CHECK (problem IN ('missing', 'changed', 'unreadable')),
  found TEXT,
  at TEXT NOT NULL
) STRICT;
CREATE TRIGGER object_damages_refuse_update BEFORE UPDATE ON object_damages BEGIN SELECT RAISE(ABORT, 'damages are append-only'); END;
CREATE TRIGGER object_damages_refuse_delete BEFORE DELETE ON object_damages BEGIN SELECT RAISE(ABORT, 'damages are append-only'); END;

CREATE TABLE object_restorations (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  damage INTEGER NOT NULL UNIQUE REFERENCES object_damages (ledger_entry),
  sha256 TEXT NOT NULL,
  at TEXT NOT NULL
) STRICT;
CREATE TRIGGER object_restorations_refuse_update BEFORE UPDATE ON object_restorations BEGIN SELECT RAISE(ABORT, 'restorations are append-only'); END;
CREATE TRIGGER object_restorations_refuse_delete BEFORE DELETE ON object_restorations BEGIN SELECT RAISE(ABORT, 'restorations are append-only'); END;

CREATE TABLE damaged_objects (
  sha256 TEXT PRIMARY KEY,
  damage INTEGER NOT NULL UNIQUE REFERENCES object_damages (ledger_entry)
) STRICT, WITHOUT ROWID;
INSERT INTO counters VALUES ('damages', 0), ('damaged_objects', 0);
CREATE TRIGGER damages_last AFTER INSERT ON object_damages BEGIN
  UPDATE counters SET value = value + 1 WHERE name = 'damages';
  UPDATE counters SET value = value + 1 WHERE name = 'damaged_objects'
    AND NOT EXISTS (SELECT 1 FROM damaged_objects WHERE sha256 = NEW.sha256);
  INSERT INTO damaged_objects VALUES (NEW.sha256, NEW.ledger_entry)
    ON CONFLICT (sha256) DO UPDATE SET damage = excluded.damage;
END;
CREATE TRIGGER restorations_end_damages AFTER INSERT ON object_restorations BEGIN
  UPDATE counters SET value = value - 1 WHERE name = 'damaged_objects'
    AND EXISTS (SELECT 1 FROM damaged_objects WHERE damage = NEW.damage);
  DELETE FROM damaged_objects WHERE damage = NEW.damage;
END;

CREATE TABLE audits (
  id INTEGER PRIMARY KEY CHECK (id >= 1),
  started_by TEXT NOT NULL CHECK (started_by IN ('schedule', 'owner')),
  started_at TEXT NOT NULL,
  ended_at TEXT,
  completed INTEGER NOT NULL DEFAULT 0,
  position TEXT NOT NULL DEFAULT '',
  checked INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0,
  damaged INTEGER NOT NULL DEFAULT 0,
  restored INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX audits_completed ON audits (ended_at) WHERE completed = 1;
CREATE INDEX audits_running ON audits (started_by) WHERE ended_at IS NULL;
`,
};
