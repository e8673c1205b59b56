import type { Migration } from '../migration.ts';

/** `insertPage` covers a page that is drawn from a withheld object, with the rule that restoring an archive replays. */
const pagesAreCoveredByCode: Migration = {
  number: 60,
  sql: 'DROP TRIGGER pages_of_withheld_objects;',
};

/**
 * What came from a peer and from nowhere else. Only of that does the word of a peer change what visitors get.
 *
 * `peer_origins` numbers the keys of peers. `mirroring` has one row: the peer from which the current transaction takes
 * records; null outside of such a transaction. `peer_objects`: the objects that only records of this peer name, and
 * `peer_studies` the studies that were taken from it. Every record that names an object inserts the row of its blob, or
 * tries to, so the trigger sees each of them. A certificate is in many connections and belongs to no peer.
 *
 * `peer_words`: the withholdings that this archive made because of the word of a peer. `objects_from_elsewhere`: objects
 * that such a withholding covers and whose bytes came from somewhere else; it ends for them before the transaction does.
 * `peer_proposals`: what a peer says of objects that this archive has otherwise. `withholding` is in force because of it;
 * `decision` is the owner's.
 *
 * `absent_objects` is by object and peer: what one peer does not give, another one may.
 *
 * An earlier version followed a peer whatever the archive had otherwise, and did not record what came from where. So what
 * it withholds because of a peer becomes a proposal.
 */
const peerWords: Migration = {
  number: 62,
  sql: `
CREATE TABLE peer_origins (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE mirroring (origin INTEGER) STRICT;
INSERT INTO mirroring VALUES (NULL);
CREATE TABLE peer_objects (sha256 TEXT PRIMARY KEY, origin INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE peer_studies (id TEXT PRIMARY KEY, origin INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE peer_words (
  withholding INTEGER PRIMARY KEY REFERENCES withholdings (ledger_entry),
  origin INTEGER
) STRICT;
CREATE TABLE objects_from_elsewhere (sha256 TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TRIGGER objects_have_origins BEFORE INSERT ON blobs BEGIN
  DELETE FROM peer_objects WHERE sha256 = NEW.sha256 AND origin IS NOT (SELECT origin FROM mirroring);
  INSERT INTO peer_objects SELECT NEW.sha256, origin FROM mirroring WHERE origin IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM blobs WHERE sha256 = NEW.sha256)
    AND NOT EXISTS (SELECT 1 FROM peer_objects WHERE sha256 = NEW.sha256);
  INSERT INTO objects_from_elsewhere SELECT NEW.sha256 FROM mirroring WHERE origin IS NULL
    AND EXISTS (SELECT 1 FROM withheld_objects o JOIN peer_words w ON w.withholding = o.withholding
      WHERE o.sha256 = NEW.sha256)
    AND NOT EXISTS (SELECT 1 FROM objects_from_elsewhere WHERE sha256 = NEW.sha256);
END;
CREATE TRIGGER certificates_have_no_origin AFTER INSERT ON certificates BEGIN
  DELETE FROM peer_objects WHERE sha256 = NEW.sha256;
END;

CREATE TABLE peer_proposals (
  number INTEGER PRIMARY KEY,
  peer TEXT NOT NULL REFERENCES peers (id) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('withheld', 'released', 'shown')),
  subject TEXT NOT NULL,
  entry INTEGER NOT NULL,
  sha256 TEXT,
  pack TEXT,
  page TEXT,
  reason TEXT NOT NULL,
  note TEXT,
  at TEXT NOT NULL,
  withholding INTEGER REFERENCES withholdings (ledger_entry),
  proposed_at TEXT NOT NULL,
  decision TEXT CHECK (decision IN ('take', 'leave')),
  CHECK ((sha256 IS NOT NULL) + (pack IS NOT NULL) + (page IS NOT NULL) = 1),
  UNIQUE (peer, kind, subject)
) STRICT;
INSERT INTO peer_proposals (peer, kind, subject, entry, sha256, pack, page, reason, note, at, withholding, proposed_at)
  SELECT p.peer, p.kind, p.subject, p.entry, w.sha256, w.pack, w.page, w.reason, NULL, w.at, w.ledger_entry, w.at
  FROM peer_withholdings p JOIN withholdings w ON w.ledger_entry = p.withholding
  JOIN withheld_targets t ON t.withholding = p.withholding WHERE w.retrieval IS NULL;
INSERT INTO peer_words SELECT DISTINCT withholding, NULL FROM peer_withholdings
  WHERE withholding IN (SELECT withholding FROM withheld_targets);
INSERT INTO peer_words SELECT t.withholding, NULL FROM absent_objects a
  JOIN withheld_targets t ON t.target = a.sha256 JOIN withholdings w ON w.ledger_entry = t.withholding
  WHERE w.note IN (a.peer || ' withholds this.', a.peer || ' gave these bytes up.')
  AND NOT EXISTS (SELECT 1 FROM peer_words WHERE withholding = t.withholding);

ALTER TABLE peer_withholdings RENAME TO earlier_withholdings;
CREATE TABLE peer_withholdings (
  peer TEXT NOT NULL REFERENCES peers (id) ON DELETE CASCADE,
  subject TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('withheld', 'released')),
  entry INTEGER NOT NULL,
  withholding INTEGER NOT NULL REFERENCES withholdings (ledger_entry),
  PRIMARY KEY (peer, kind, subject, withholding)
) STRICT, WITHOUT ROWID;
INSERT INTO peer_withholdings SELECT peer, subject, kind, entry, withholding FROM earlier_withholdings;
DROP TABLE earlier_withholdings;

ALTER TABLE absent_objects RENAME TO earlier_absent;
CREATE TABLE absent_objects (
  sha256 TEXT NOT NULL REFERENCES blobs (sha256),
  peer TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('withheld', 'released')),
  reason TEXT NOT NULL,
  since TEXT NOT NULL,
  PRIMARY KEY (sha256, peer)
) STRICT, WITHOUT ROWID;
INSERT INTO absent_objects SELECT sha256, peer, state, reason, since FROM earlier_absent;
DROP TABLE earlier_absent;
`,
};

/**
 * Every release is followed by the overwriting of what is left of its bytes, also one for its age and one of an object that
 * is not in the index. In an archive with releases, it begins with the next start.
 */
const releasesAreCleaned: Migration = {
  number: 63,
  sql: `
UPDATE counters SET value = value + (SELECT count(*) FROM releases) WHERE name = 'texts_to_clean';
CREATE TRIGGER releases_are_cleaned AFTER INSERT ON releases BEGIN
  UPDATE counters SET value = value + 1 WHERE name = 'texts_to_clean';
END;
`,
};

/**
 * A session is a public key of a page and the origin of that page. Behind plain HTTP, `port` is the port at which the node
 * listened, else 0. The sessions before were secrets in cookies, which every port of a host gets: they end here.
 */
const sessionKeys: Migration = {
  number: 64,
  sql: `
DROP TABLE owner_sessions;
CREATE TABLE owner_sessions (
  id TEXT PRIMARY KEY,
  public_key TEXT NOT NULL UNIQUE,
  origin TEXT NOT NULL,
  port INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  last_used_at TEXT NOT NULL,
  label TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`,
};

/**
 * The events of drawn pages that show an object `r`, and the events after them. If a part of the page is watched, their
 * diffs quote its document or its picture, whose digests are not those of the events.
 */
const eventsOfPagesWith = (releases: string) => `
    SELECT e.id FROM ${releases} JOIN page_captures p ON p.id = r.part_of
      JOIN events e ON e.sha256 = p.record ->> 'text' AND e.source_key = p.source_key WHERE r.status IS NULL
    UNION SELECT e.id FROM ${releases} JOIN page_captures p ON p.id = r.part_of
      JOIN events e ON e.previous_sha256 = p.record ->> 'text' AND e.source_key = p.source_key WHERE r.status IS NULL`;

const forgetDiffsOf = (events: string) => `
  DELETE FROM derived_documents WHERE kind = 'diff' AND subject IN (SELECT CAST(id AS TEXT) FROM (${events}));
  DELETE FROM event_summaries WHERE event IN (${events});`;

const RELEASED_NOW = '(SELECT * FROM retrievals WHERE sha256 = NEW.sha256) r';
/** The events of which a digest is one of the two versions, or what their pages show. */
const EVENTS = `SELECT id FROM events WHERE sha256 = NEW.sha256
    UNION SELECT id FROM events WHERE previous_sha256 = NEW.sha256
    UNION ${eventsOfPagesWith(RELEASED_NOW)}`;
const FOLLOWED = 'SELECT source_key FROM retrievals WHERE sha256 = NEW.sha256';
/** The text of a link is that of the newest version that was read, or of an older one if that no longer links to it. */
const IS_OF_VERSION = `source_key IN (${FOLLOWED}) AND (unlinked_at IS NOT NULL
    OR source_key IN (SELECT source_key FROM follow_runs WHERE sha256 = NEW.sha256))`;

/**
 * What else quotes released bytes is forgotten with them: the diffs of drawn pages of which a part is watched, the texts
 * of links of older versions, and what messages said. A message that is not sent yet is composed again.
 */
const quotationsAreForgotten: Migration = {
  number: 65,
  sql: `
CREATE TRIGGER quotations_are_forgotten AFTER INSERT ON releases BEGIN${forgetDiffsOf(eventsOfPagesWith(RELEASED_NOW))}
  DELETE FROM found_links WHERE state = 'waiting' AND ${IS_OF_VERSION};
  UPDATE found_links SET title = '' WHERE title <> '' AND ${IS_OF_VERSION};
  UPDATE alert_deliveries SET message = iif(state = 'sent', json_set(message, '$.alerts', json('[]')), NULL)
    WHERE message IS NOT NULL AND EXISTS (
      SELECT 1 FROM json_each(message, '$.alerts') WHERE value ->> 'event' IN (${EVENTS}));
END;
${forgetDiffsOf(eventsOfPagesWith('releases x JOIN retrievals r ON r.sha256 = x.sha256'))}
UPDATE counters SET value = value + (SELECT count(*) FROM releases) WHERE name = 'texts_to_clean';
`,
};

/**
 * What harvesters and the sitemap list, in the order of the ledger, without a look at each part of a set. The conditions are
 * those of the queries in `archive/harvest.ts`.
 */
const packsToHarvest: Migration = {
  number: 66,
  sql: `
CREATE INDEX packs_to_harvest ON packs (ledger_entry)
  WHERE part_of IS NULL OR supersedes IS NOT NULL OR replicates IS NOT NULL;
CREATE INDEX packs_that_are_no_parts ON packs (ledger_entry) WHERE part_of IS NULL;
`,
};

/**
 * What a page has sent is withheld with it, as `covered.ts` says. A page that is withheld already has at least one object
 * that it showed among the withheld ones.
 */
const sentIsWithheld: Migration = {
  number: 67,
  sql: `
INSERT OR IGNORE INTO withheld_objects (sha256, withholding)
SELECT part.request -> 'body' ->> 'sha256', held.withholding FROM withheld_objects held
JOIN retrievals shown ON shown.sha256 = held.sha256 AND shown.part_of IS NOT NULL AND shown.status IS NULL
JOIN page_captures p ON p.id = shown.part_of
JOIN retrievals part ON part.part_of = p.id AND part.request -> 'body' ->> 'sha256' IS NOT NULL
WHERE NOT EXISTS (SELECT 1 FROM retrievals other WHERE other.sha256 = part.request -> 'body' ->> 'sha256'
    AND other.source_key <> part.source_key AND other.id <= coalesce((SELECT last FROM retrieval_batches
      WHERE ledger_entry <= max(held.withholding, p.ledger_entry) ORDER BY ledger_entry DESC LIMIT 1), 0))
  AND NOT EXISTS (SELECT 1 FROM releases r WHERE r.sha256 = part.request -> 'body' ->> 'sha256');
`,
};

export const MIGRATIONS_60_TO_69: readonly Migration[] = [
  pagesAreCoveredByCode,
  peerWords,
  releasesAreCleaned,
  sessionKeys,
  quotationsAreForgotten,
  packsToHarvest,
  sentIsWithheld,
];
