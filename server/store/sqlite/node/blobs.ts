import type { Audit, Damage, DamagedFile } from '../../../../shared/ledger/fixity.ts';
import { MAX_PREVIEWED_USES, type ReleasePreview } from '../../../../shared/node/withheld.ts';
import type { ReadDatabase, WriteDatabase } from '../engine/open.ts';
import {
  all,
  change,
  count,
  inserts,
  selectAll,
  selectEach,
  selectOne,
  selectPage,
  selectValue,
  selectValues,
  updates,
} from '../engine/queries.ts';
import { joinedFromElsewhere } from './peerOrigins.ts';
import { isAbsentSql } from './peers.ts';
import { isReleasedSql } from './withheld.ts';

interface BlobRow {
  sha256: string;
  bytes: number;
  stored_at: string;
}

/** Inserts the row of a blob whose file is durable. Does nothing if the row exists. */
export function createBlobRowIfAbsent(database: WriteDatabase, row: BlobRow): void {
  const { sha256, bytes, stored_at } = row;
  createBlobRowsIfAbsent(database, stored_at, [{ sha256, bytes }]);
}

/** Creates the row of each of these blobs that has none. */
export function createBlobRowsIfAbsent(
  database: WriteDatabase,
  at: string,
  blobs: readonly { sha256: string; bytes: number }[],
): void {
  insertRows(database, at, blobs);
  // A file that comes when parts of it are withheld is withheld with them.
  joinedFromElsewhere(database, { digests: JSON.stringify(blobs.map(({ sha256 }) => sha256)) });
}

const insertRows = change<[at: string, blobs: readonly { sha256: string; bytes: number }[]]>(
  `INSERT INTO blobs (sha256, bytes, stored_at)
   SELECT value ->> 'sha256', value ->> 'bytes', ? FROM json_each(?) WHERE true ON CONFLICT DO NOTHING`,
);

/** Returns the size of a blob from its row, or undefined. */
export const blobBytes = selectValue<number, [sha256: string]>('SELECT bytes FROM blobs WHERE sha256 = ?');

/** Returns the row of a blob, or undefined. */
export const blobRow = selectOne<BlobRow, [sha256: string]>(
  'SELECT sha256, bytes, stored_at FROM blobs WHERE sha256 = ?',
);

/** A digest that the archive has, with the newest pack and the first source that name it. */
interface FoundDigestRow {
  sha256: string;
  bytes: number;
  pack: string | null;
  path: string | null;
  source: string | null;
  url: string | null;
}

/** Returns which of these digests have a blob, and where. Each is a look-up in three indexes. */
export const findDigests = selectAll<FoundDigestRow, [digests: readonly string[]]>(`
  SELECT b.sha256, b.bytes, p.id AS pack, f.path, s.id AS source, s.url
  FROM json_each(?) j CROSS JOIN blobs b ON b.sha256 = j.value
  LEFT JOIN pack_files f ON (f.pack, f.path) = (SELECT o.pack, o.path FROM pack_files o
    WHERE o.sha256 = b.sha256 ORDER BY o.pack DESC LIMIT 1)
  LEFT JOIN packs p ON p.ledger_entry = f.pack
  LEFT JOIN retrievals r ON r.id = (SELECT min(id) FROM retrievals o WHERE o.sha256 = b.sha256)
  LEFT JOIN sources s ON s.key = r.source_key`);

type CounterName =
  | 'blob_bytes'
  | 'sources'
  | 'observations'
  | 'archived_objects'
  | 'derived_documents'
  | 'damages'
  | 'damaged_objects'
  | 'offloaded_objects'
  | 'offloaded_bytes'
  | 'released_objects'
  | 'released_bytes'
  | 'texts_to_clean';

/** Returns a count that triggers maintain in the same transaction as the rows. */
export const counter = selectValue<number, [name: CounterName]>(
  'SELECT value FROM counters WHERE name = ?',
  0,
);

/** Returns the bytes of all blobs but those that are offloaded or were given up. */
export const bytesHere = selectValue<number>(
  `SELECT sum(iif(name = 'blob_bytes', value, -value)) FROM counters
       WHERE name IN ('blob_bytes', 'offloaded_bytes')`,
  0,
);

/** Returns how many objects were released; empty if none were. They are not checked, and are not missing. */
export function releasedObjects(read: ReadDatabase): { released_objects?: number } {
  const released_objects = counter(read, 'released_objects');
  return released_objects > 0 ? { released_objects } : {};
}

/** Returns the same with the bytes of these objects. */
export function releasedBytes(read: ReadDatabase): {
  released_objects?: number;
  released_bytes?: number;
  cleaning?: boolean;
} {
  const released = releasedObjects(read);
  return released.released_objects
    ? {
        ...released,
        released_bytes: counter(read, 'released_bytes'),
        cleaning: counter(read, 'texts_to_clean') > 0,
      }
    : {};
}

/** Iterates over the rows of all blobs that were not given up and that came, in the order of their digests. */
export const iterateBlobRows = selectEach<{ sha256: string; bytes: number }>(
  `SELECT sha256, bytes FROM blobs
   WHERE NOT ${isReleasedSql('blobs.sha256')} AND NOT ${isAbsentSql('blobs.sha256')} ORDER BY sha256`,
);

/** Returns the rows of blobs after a digest, in order, without those that were given up and those that never came. */
export const blobRowsAfter = selectAll<{ sha256: string; bytes: number }, [after: string, limit: number]>(
  `SELECT sha256, bytes FROM blobs
   WHERE sha256 > ? AND NOT ${isReleasedSql('blobs.sha256')} AND NOT ${isAbsentSql('blobs.sha256')}
   ORDER BY sha256 LIMIT ?`,
);

/** A damage when it was found. */
export type DamageRow = Pick<Damage, 'sha256' | 'bytes' | 'problem' | 'found' | 'at' | 'ledger_entry'>;

/** The repair of a damage; `damage` is the damage's ledger entry. */
export interface RestorationRow {
  ledger_entry: number;
  damage: number;
  sha256: string;
  at: string;
}

export const insertDamage = inserts<DamageRow>(
  'object_damages',
  'ledger_entry, sha256, bytes, problem, found, at',
);

export const insertRestoration = inserts<RestorationRow>(
  'object_restorations',
  'ledger_entry, damage, sha256, at',
);

/** Returns the ledger entry of a blob's current damage, or undefined. */
export const currentDamageOf = selectValue<number, [sha256: string]>(
  'SELECT damage FROM damaged_objects WHERE sha256 = ?',
);

const DAMAGES = `SELECT d.sha256, d.bytes, d.problem, d.found, d.at, d.ledger_entry, r.at AS restored_at,
    r.ledger_entry AS restored_entry`;

/** Returns the first `limit` blobs that are currently damaged, in the order of their digests. */
export const currentDamages = selectAll<Damage, [limit: number]>(`
  ${DAMAGES} FROM damaged_objects o JOIN object_damages d ON d.ledger_entry = o.damage
  LEFT JOIN object_restorations r ON r.damage = d.ledger_entry ORDER BY o.sha256 LIMIT ?`);

/** Returns the first `limit` damages after a ledger entry for which a rule has no notice with the subject `damage:<entry>`. */
export const damagesWithoutNotice = selectAll<
  DamageRow,
  [values: { rule: string; after: number; limit: number }]
>(`
  SELECT ledger_entry, sha256, bytes, problem, found, at FROM object_damages WHERE ledger_entry > $after
  AND NOT EXISTS (SELECT 1 FROM alert_notices WHERE rule = $rule AND subject = 'damage:' || ledger_entry)
  ORDER BY ledger_entry LIMIT $limit`);

/** Returns a page of all damages ever found, newest first. */
export const damagesPage = selectAll<Damage, [values: { limit: number; offset: number }]>(`
  ${DAMAGES} FROM object_damages d LEFT JOIN object_restorations r ON r.damage = d.ledger_entry
  ORDER BY d.ledger_entry DESC LIMIT $limit OFFSET $offset`);

/**
 * Returns a page of the files of a pack, or of the parts of a set, that are damaged now. The few damaged objects are read
 * first, because a set can have a million files.
 */
export const damagedFilesPage = selectPage<DamagedFile, [pack: string, set: string]>({
  columns: 'p.id AS pack, f.path, d.sha256, d.bytes, d.problem, d.found, d.at, d.ledger_entry',
  from: `damaged_objects o CROSS JOIN object_damages d ON d.ledger_entry = o.damage
    CROSS JOIN pack_files f ON f.sha256 = o.sha256 CROSS JOIN packs p ON p.ledger_entry = f.pack
    WHERE p.id IN (SELECT ? UNION SELECT s.part FROM set_parts s
      JOIN packs m ON m.ledger_entry = s.manifest WHERE m.id = ?)`,
  order: 'f.path, p.id',
});

/** Iterates over all damages, in ledger order. */
export const iterateDamages = selectEach<DamageRow>(
  'SELECT ledger_entry, sha256, bytes, problem, found, at FROM object_damages ORDER BY ledger_entry',
);

/** Iterates over all restorations, in ledger order. */
export const iterateRestorations = selectEach<RestorationRow>(
  'SELECT ledger_entry, damage, sha256, at FROM object_restorations ORDER BY ledger_entry',
);

/** The progress of an audit. */
export type AuditCounts = Pick<Audit, 'checked' | 'bytes' | 'damaged' | 'restored'>;

/** An audit that has not ended; `position` is the digest of the last blob that it hashed. */
export type RunningAudit = AuditCounts & { id: number; started_at: string; position: string };

type StartedBy = Audit['started_by'];

export const insertAudit = inserts<{ started_by: StartedBy; started_at: string }>(
  'audits',
  'started_by, started_at',
);

/** Saves the progress of an audit. */
export const updateAudit = updates<AuditCounts & { id: number; position: string }>('audits', {
  key: 'id',
  columns: 'position, checked, bytes, damaged, restored',
});

export function endAudit(
  database: WriteDatabase,
  id: number,
  { ended_at, completed }: { ended_at: string; completed: boolean },
): void {
  setEnded(database, { id, ended_at, completed: Number(completed) });
}

const setEnded = updates<{ id: number; ended_at: string; completed: number }>('audits', {
  key: 'id',
  columns: 'ended_at, completed',
});

/** Ends running audits as not completed, because their process ended or they are no longer needed. */
export const abortAudits = change<[values: { startedBy: StartedBy; at: string }]>(
  'UPDATE audits SET ended_at = $at WHERE started_by = $startedBy AND ended_at IS NULL',
);

/** Returns the running scheduled audit, or undefined. */
export const scheduledAudit = selectOne<RunningAudit>(`
  SELECT id, started_at, position, checked, bytes, damaged, restored FROM audits
  WHERE started_by = 'schedule' AND ended_at IS NULL ORDER BY id DESC LIMIT 1`);

/** Returns the newest completed audit, or undefined. */
export const lastCompletedAudit = selectOne<{ ended_at: string; checked: number }>(
  'SELECT ended_at, checked FROM audits WHERE completed = 1 ORDER BY ended_at DESC, id DESC LIMIT 1',
);

/** Returns a page of audits, newest first, and their total number. */
export const auditsPage = selectPage<Omit<Audit, 'completed'> & { completed: number }, [], Audit>(
  {
    columns: 'id, started_by, started_at, ended_at, completed, checked, bytes, damaged, restored',
    from: 'audits',
    order: 'id DESC',
  },
  (row) => ({ ...row, completed: row.completed === 1 }),
);

/** The events of which a digest is a version. */
const EVENTS =
  'SELECT id FROM events WHERE sha256 = $sha256 UNION SELECT id FROM events WHERE previous_sha256 = $sha256';

/** Whether a row `f` is about the object, or about something with it. */
const IS_ABOUT = `(f.target_kind = 'object' AND f.target_id = $sha256) OR f.passage_sha256 = $sha256
    OR (f.target_kind = 'event' AND f.target_id IN (SELECT CAST(id AS TEXT) FROM (${EVENTS})))
    OR (f.target_kind = 'pack' AND f.target_id IN (
      SELECT p.id FROM pack_files u JOIN packs p ON p.ledger_entry = u.pack WHERE u.sha256 = $sha256))`;

const FINDINGS = `SELECT f.id FROM findings f JOIN current_findings USING (ledger_entry) WHERE ${IS_ABOUT}`;

/** Of each kind of use, the columns that name one, and where they are from. */
const USES = {
  packs: [
    "p.id, (SELECT r.record ->> 'title' FROM pack_records r WHERE r.ledger_entry = p.ledger_entry) AS title, f.path",
    // A set may have the file in parts, which are given up with it.
    `pack_files f JOIN packs p ON p.ledger_entry = f.pack
      WHERE f.sha256 IN (SELECT $sha256 UNION SELECT part FROM joined_files WHERE sha256 = $sha256 AND ties <> 'none')`,
    'f.pack DESC, f.path',
  ],
  sources: [
    's.id, s.url, r.retrievals',
    `(SELECT source_key, count(*) AS retrievals FROM retrievals WHERE sha256 = $sha256 GROUP BY source_key) r
      JOIN sources s ON s.key = r.source_key`,
    'r.retrievals DESC, s.key',
  ],
  events: [
    'e.id, s.url, e.observed_at',
    `(${EVENTS}) of_object JOIN events e USING (id) JOIN sources s ON s.key = e.source_key`,
    'e.id DESC',
  ],
  pages: [
    "p.id, p.record ->> 'url' AS url",
    `(SELECT p.ledger_entry FROM retrievals r JOIN page_captures p ON p.id = r.part_of WHERE r.sha256 = $sha256
      UNION SELECT p.ledger_entry FROM retrievals r JOIN page_captures p ON p.retrieval = r.id
        WHERE r.sha256 = $sha256) of_object JOIN page_captures p USING (ledger_entry)`,
    'p.ledger_entry DESC',
  ],
  handed_in: [
    "h.id, h.record ->> 'url' AS url, h.file",
    `(SELECT h.ledger_entry FROM retrievals r JOIN hand_ins h ON h.id = r.part_of WHERE r.sha256 = $sha256
      UNION SELECT h.ledger_entry FROM retrievals r JOIN hand_ins h ON h.retrieval = r.id
        WHERE r.sha256 = $sha256) of_object JOIN hand_ins h USING (ledger_entry)`,
    'h.ledger_entry DESC',
  ],
  findings: [
    'u.id, u.text',
    `(SELECT f.ledger_entry, f.id, f.text FROM findings f WHERE f.id IN (${FINDINGS})
      UNION ALL SELECT s.ledger_entry, s.id, f.record ->> 'text' FROM sealed_texts f
        JOIN sealed_findings s USING (ledger_entry) WHERE ${IS_ABOUT}) u`,
    'u.ledger_entry DESC',
  ],
  cases: [
    'c.id, c.title',
    `cases c WHERE EXISTS (SELECT 1 FROM json_each(c.items) item WHERE
      (item.value ->> 'kind' = 'event' AND CAST(item.value ->> 'id' AS INTEGER) IN (${EVENTS}))
      OR (item.value ->> 'kind' = 'finding' AND item.value ->> 'id' IN (${FINDINGS}))
      OR (item.value ->> 'kind' = 'pack' AND item.value ->> 'id' IN (
        SELECT p.id FROM pack_files u JOIN packs p ON p.ledger_entry = u.pack WHERE u.sha256 = $sha256)))`,
    'c.key DESC',
  ],
  copies: [
    'c.id, c.target',
    'copied_objects o JOIN copies c ON c.id = o.copy WHERE o.sha256 = $sha256',
    'c.added_at, c.id',
  ],
} as const;

type Uses = Pick<ReleasePreview, keyof typeof USES>;

/** Returns what uses an object and which copies hold it: the first of each kind, and how many there are. */
export function usesOfObject(database: ReadDatabase, sha256: string): Uses {
  const used = Object.entries(USES).map(([kind, [columns, from, order]]) => {
    const sql = `SELECT ${columns} FROM ${from} ORDER BY ${order} LIMIT ${MAX_PREVIEWED_USES}`;
    const items = all<object>(database, sql, { sha256 });
    const total = items.length < MAX_PREVIEWED_USES ? items.length : count(database, from, { sha256 });
    return [kind, { total, items }];
  });
  return Object.fromEntries(used) as Uses;
}

/** A source whose bytes are given up after some days. */
export interface LimitedSource {
  key: number;
  keep_days: number;
  last_sha256: string | null;
  last_page: number | null;
}

export const sourcesWithKeepDays = selectAll<LimitedSource>(`
  SELECT key, keep_days, last_sha256,
    (SELECT max(ledger_entry) FROM page_captures p WHERE p.source_key = s.key) AS last_page
  FROM sources s WHERE keep_days IS NOT NULL ORDER BY key`);

/** A retrieval that brought an object. */
interface ObservedObject {
  id: number;
  sha256: string | null;
  observed_at: string;
}

/** Returns the retrievals of a source after one of them, in the order in which they were recorded. */
export const retrievalsAfter = selectAll<
  ObservedObject,
  [values: { source: number; after: number; limit: number }]
>(`
  SELECT id, sha256, observed_at FROM retrievals INDEXED BY retrievals_by_source
  WHERE source_key = $source AND part_of IS NULL AND id > $after ORDER BY id LIMIT $limit`);

/** The same for the parts of its page captures, and for what those showed. */
export const partsAfter = selectAll<
  ObservedObject,
  [values: { source: number; after: number; limit: number }]
>(`
  SELECT id, sha256, observed_at FROM retrievals INDEXED BY parts_by_source
  WHERE source_key = $source AND part_of IS NOT NULL AND id > $after ORDER BY id LIMIT $limit`);

/**
 * Returns those of some digests whose bytes may be given up for their age: every source that has them keeps bytes for a
 * number of days, which are over since it last saw them, and nothing else needs them. A pack needs its files, and a draft
 * too. A finding needs its object, both versions of its event, the page that the event is about, and what its passage is
 * from, also while it is sealed; a case the same of its events. A source needs the newest version by each observer, and its newest page.
 * What a sealed finding needs is not known while its record cannot be read here, as after a restore without the key. It can be
 * anything that was there when it was sealed.
 *
 * @param digests as JSON
 * @param now the time (RFC 3339)
 */
export const agedDigests = selectValues<string, [values: { digests: string; now: string }]>(`
  WITH named_events (id) AS MATERIALIZED (
    SELECT CAST(target_id AS INTEGER) FROM findings WHERE target_kind = 'event'
    UNION SELECT CAST(target_id AS INTEGER) FROM sealed_texts WHERE target_kind = 'event'
    UNION SELECT CAST(item.value ->> 'id' AS INTEGER) FROM cases, json_each(cases.items) item
      WHERE item.value ->> 'kind' = 'event'
  ), named_pages (id) AS MATERIALIZED (
    SELECT page FROM events JOIN named_events USING (id) WHERE page IS NOT NULL
  )
  SELECT j.value FROM json_each($digests) j
  WHERE NOT EXISTS (SELECT 1 FROM releases WHERE sha256 = j.value)
    AND NOT EXISTS (SELECT 1 FROM retrievals r JOIN sources s ON s.key = r.source_key WHERE r.sha256 = j.value
      AND (s.keep_days IS NULL OR r.sha256 IS s.last_sha256
        OR r.observed_at > strftime('%Y-%m-%dT%H:%M:%fZ', $now, '-' || s.keep_days || ' days')))
    AND NOT EXISTS (SELECT 1 FROM pack_files WHERE sha256 = j.value)
    AND NOT EXISTS (SELECT 1 FROM draft_files WHERE sha256 = j.value)
    AND NOT EXISTS (SELECT 1 FROM certificates WHERE sha256 = j.value)
    AND NOT EXISTS (SELECT 1 FROM findings WHERE target_kind = 'object' AND target_id = j.value)
    AND NOT EXISTS (SELECT 1 FROM findings WHERE passage_sha256 = j.value)
    AND NOT EXISTS (SELECT 1 FROM sealed_texts WHERE passage_sha256 = j.value
      OR (target_kind = 'object' AND target_id = j.value))
    AND NOT EXISTS (SELECT 1 FROM retrievals r WHERE r.sha256 = j.value AND r.observed_at <= (
      SELECT max(l.at) FROM sealed_findings s JOIN ledger l ON l.seq = s.ledger_entry
      WHERE NOT EXISTS (SELECT 1 FROM sealed_texts f WHERE f.ledger_entry = s.ledger_entry)
        AND NOT EXISTS (SELECT 1 FROM revealed_findings v WHERE v.sealed_entry = s.ledger_entry)))
    AND NOT EXISTS (SELECT 1 FROM named_events n JOIN events e ON e.id = n.id
      WHERE j.value IN (e.sha256, e.previous_sha256))
    AND NOT EXISTS (SELECT 1 FROM events e WHERE e.sha256 = j.value AND NOT EXISTS (
      SELECT 1 FROM events later WHERE later.source_key = e.source_key AND later.observer = e.observer
        AND later.sha256 IS NOT NULL AND later.id > e.id))
    AND NOT EXISTS (SELECT 1 FROM retrievals r
      JOIN page_captures p ON p.id = r.part_of OR p.retrieval = r.id
      WHERE r.sha256 = j.value AND (p.id IN (SELECT id FROM named_pages) OR p.id = (
        SELECT newest.id FROM page_captures newest WHERE newest.source_key = p.source_key
          AND newest.observer IS p.observer ORDER BY newest.started_at DESC, newest.ledger_entry DESC LIMIT 1)))`);
