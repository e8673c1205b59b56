import type {
  RecordedWithholding,
  Release,
  Shown,
  WithheldObject,
  WithheldState,
  WithheldStateQuery,
  Withholding,
} from '../../../../shared/node/withheld.ts';
import { isHandedInSql } from '../collection/handIns.ts';
import type { ReadDatabase, WriteDatabase } from '../engine/open.ts';
import {
  all,
  change,
  hasRow,
  inserts,
  run,
  selectEach,
  selectOne,
  selectPage,
  selectValue,
  selectValues,
} from '../engine/queries.ts';

export type WithholdingRow = RecordedWithholding & { ledger_entry: number };

const COLUMNS = 'ledger_entry, sha256, retrieval, pack, page, reason, note, at';

/** The condition that visitors may not read the bytes of a digest. @param digest an SQL expression */
export const isWithheldSql = (digest: string) =>
  `EXISTS (SELECT 1 FROM withheld_objects WHERE withheld_objects.sha256 = ${digest})`;

/** The condition that a digest is withheld because it was got with a login. @param digest an SQL expression */
export const isWithheldForLoginSql = (digest: string) =>
  `EXISTS (SELECT 1 FROM withheld_objects o JOIN withholdings w ON w.ledger_entry = o.withholding
    WHERE o.sha256 = ${digest} AND w.reason = 'login')`;

/** The condition that the bytes of a digest were given up. @param digest an SQL expression */
export const isReleasedSql = (digest: string) =>
  `EXISTS (SELECT 1 FROM releases WHERE releases.sha256 = ${digest})`;

/** Returns the oldest withholding in force that covers a digest, or undefined. */
export const withholdingOf = selectOne<WithholdingRow, [sha256: string]>(`
  SELECT ${COLUMNS.replace('sha256', 'w.sha256')} FROM withheld_objects o
  JOIN withholdings w ON w.ledger_entry = o.withholding WHERE o.sha256 = ? ORDER BY w.ledger_entry LIMIT 1`);

/** Returns whether a digest is withheld or was given up: nearly always not, so this is asked before why. */
export const isMarked = hasRow<[values: { sha256: string }]>(
  `SELECT 1 FROM withheld_objects WHERE sha256 = $sha256
   UNION ALL SELECT 1 FROM releases WHERE sha256 = $sha256 LIMIT 1`,
);

/** Returns whether a withholding in force covers a digest. */
export const isWithheld = hasRow<[sha256: string]>('SELECT 1 FROM withheld_objects WHERE sha256 = ?');

/** Returns whether a digest is withheld because it was got with a login. */
export const isWithheldForLogin = hasRow<[values: { sha256: string | null }]>(
  `SELECT 1 WHERE ${isWithheldForLoginSql('$sha256')}`,
);

/** Returns those of these digests that a withholding in force covers. */
export const withheldAmong = selectValues<string, [digests: readonly string[]]>(
  'SELECT DISTINCT o.sha256 FROM json_each(?) j CROSS JOIN withheld_objects o ON o.sha256 = j.value',
);

/** Returns those of these digests whose bytes were given up. */
export const releasedAmong = selectValues<string, [digests: readonly string[]]>(
  'SELECT DISTINCT r.sha256 FROM json_each(?) j CROSS JOIN releases r ON r.sha256 = j.value',
);

/** Returns the release of a digest, or undefined. */
export const releaseOf = selectOne<Release, [sha256: string]>(
  'SELECT ledger_entry, sha256, bytes, reason, note, at FROM releases WHERE sha256 = ?',
);

/** Returns whether the bytes of a digest were given up. */
export const isReleased = hasRow<[sha256: string]>('SELECT 1 FROM releases WHERE sha256 = ?');

/** Returns releases whose bytes may still be on this disk. */
export const unfinishedReleases = selectValues<string, [limit: number]>(
  'SELECT sha256 FROM unfinished_releases ORDER BY sha256 LIMIT ?',
);

/** Records that the bytes of a release are gone. */
export const finishRelease = change<[sha256: string]>('DELETE FROM unfinished_releases WHERE sha256 = ?');

/** What is withheld, as one text: a withholding of the same target replaces the one in force. */
function keyOf({ sha256, retrieval, pack, page }: Target): string {
  return sha256 ?? pack ?? page ?? `retrieval:${retrieval}`;
}

type Target = Omit<RecordedWithholding, 'reason' | 'note' | 'at'>;

/** Returns the ledger entry of the withholding of a target that is in force, or undefined. */
export function currentWithholding(database: ReadDatabase, target: Target): number | undefined {
  return withholdingOfTarget(database, keyOf(target));
}
const withholdingOfTarget = selectValue<number, [target: string]>(
  'SELECT withholding FROM withheld_targets WHERE target = ?',
);

const insertRow = inserts<WithholdingRow>('withholdings', COLUMNS);

/** Inserts a withholding after its ledger entry. It replaces the one of the same target, and covers its digests. */
export function insertWithholding(database: WriteDatabase, row: WithholdingRow): void {
  insertRow(database, row);
  const target = keyOf(row);
  const replaced = withholdingOfTarget(database, target);
  if (replaced !== undefined) endWithholding(database, replaced);
  run(database, 'INSERT INTO withheld_targets (target, withholding) VALUES (?, ?)', target, row.ledger_entry);
  cover(database, row);
}

const insertShown = inserts<Shown>('showings', 'ledger_entry, withheld, at');

/** Inserts the end of a withholding after its ledger entry. What other withholdings cover stays covered. */
export function insertShowing(database: WriteDatabase, row: Shown): void {
  insertShown(database, row);
  endWithholding(database, row.withheld);
}

function endWithholding(database: WriteDatabase, withholding: number): void {
  run(database, 'DELETE FROM withheld_targets WHERE withholding = ?', withholding);
  run(database, 'DELETE FROM withheld_objects WHERE withholding = ?', withholding);
}

export const insertRelease = inserts<Release>('releases', 'ledger_entry, sha256, bytes, reason, note, at');

/** The digests that a target names itself. */
const NAMED = {
  sha256: 'SELECT $sha256 AS sha256',
  retrieval: 'SELECT sha256 FROM retrievals WHERE id = $retrieval AND sha256 IS NOT NULL',
  pack: `SELECT f.sha256 FROM packs p JOIN pack_files f ON f.pack = p.ledger_entry WHERE p.id = $pack`,
  page: `SELECT sha256 FROM retrievals WHERE part_of = $page AND status IS NULL AND sha256 IS NOT NULL`,
};

/** The kinds of targets, in the order of their columns. */
const TARGETS = ['sha256', 'retrieval', 'pack', 'page'] as const;

function kindOf(row: Target): (typeof TARGETS)[number] {
  return TARGETS.find((name) => row[name] !== null) ?? 'sha256';
}

/**
 * The digests of a target and what belongs to them: a page is covered with the object that it was drawn from, with what it
 * showed and with its parts, except those that other sources have, such as a font. So is every other page that was drawn
 * from that object. What a page showed has no status. What was handed in is covered with its
 * file, its document and its parts, except those that others observed, too.
 */
const coveredSql = (kind: (typeof TARGETS)[number]) => `
  WITH RECURSIVE named AS (${NAMED[kind]}),
    pages (id, retrieval) AS (
      SELECT p.id, p.retrieval FROM named JOIN retrievals r ON r.sha256 = named.sha256
      JOIN page_captures p ON p.retrieval = r.id
      UNION
      SELECT p.id, p.retrieval FROM named JOIN retrievals r ON r.sha256 = named.sha256
      JOIN page_captures p ON p.id = r.part_of WHERE r.status IS NULL
      UNION
      SELECT p.id, p.retrieval FROM pages JOIN retrievals drawn ON drawn.id = pages.retrieval
      JOIN retrievals r ON r.sha256 = drawn.sha256 JOIN page_captures p ON p.retrieval = r.id
    ),
    handed_in (id, retrieval, file) AS (
      SELECT h.id, h.retrieval, h.file FROM named JOIN retrievals r ON r.sha256 = named.sha256
      JOIN hand_ins h ON h.retrieval = r.id
      UNION
      SELECT h.id, h.retrieval, h.file FROM named JOIN hand_ins h ON h.file = named.sha256
    )
  SELECT sha256 FROM named
  UNION
  SELECT r.sha256 FROM pages JOIN retrievals r ON r.id = pages.retrieval WHERE r.sha256 IS NOT NULL
  UNION
  SELECT r.sha256 FROM pages JOIN retrievals r ON r.part_of = pages.id
  WHERE r.sha256 IS NOT NULL AND (r.status IS NULL OR NOT EXISTS (SELECT 1 FROM retrievals other
    WHERE other.sha256 = r.sha256 AND other.source_key <> r.source_key))
  UNION
  SELECT file FROM handed_in
  UNION
  SELECT r.sha256 FROM handed_in h JOIN retrievals r ON r.id = h.retrieval
  UNION
  SELECT r.sha256 FROM handed_in h JOIN retrievals r ON r.part_of = h.id
  WHERE r.sha256 IS NOT NULL AND NOT EXISTS (SELECT 1 FROM retrievals other
    WHERE other.sha256 = r.sha256 AND NOT ${isHandedInSql('other.observer')})`;

/** Covers the digests of a target, except those whose bytes were given up. */
function cover(database: WriteDatabase, { ledger_entry, ...row }: WithholdingRow): void {
  const kind = kindOf(row);
  run(
    database,
    `INSERT OR IGNORE INTO withheld_objects (sha256, withholding)
     SELECT sha256, $ledger_entry FROM (${coveredSql(kind)}) AS covered WHERE NOT ${isReleasedSql('covered.sha256')}`,
    { ledger_entry, [kind]: row[kind] },
  );
}

const OBJECTS = '(SELECT count(*) FROM withheld_objects o WHERE o.withholding = w.ledger_entry) AS objects';
/** Returns the digests that a withholding of a target would cover now. */
export function coveredBy(database: ReadDatabase, row: Target): string[] {
  const kind = kindOf(row);
  return all<{ sha256: string }>(database, coveredSql(kind), { [kind]: row[kind] }).map(
    ({ sha256 }) => sha256,
  );
}

const CURRENT = `withheld_targets t JOIN withholdings w ON w.ledger_entry = t.withholding`;

/** Returns a page of the withholdings in force, newest first. */
export const withholdingsPage = selectPage<Withholding>({
  columns: `${COLUMNS}, ${OBJECTS}`,
  from: CURRENT,
  order: 'ledger_entry DESC',
});

/** Returns a withholding in force by its ledger entry, or undefined. */
export const withholdingByEntry = selectOne<Withholding, [ledger_entry: number]>(`
  SELECT ${COLUMNS}, ${OBJECTS}
  FROM ${CURRENT} WHERE w.ledger_entry = ?`);

/** The digest of what a target shows first; a pack shows no single one. */
const objectOfTarget = selectValue<string, [target: Target]>(`
  SELECT coalesce(
    (SELECT sha256 FROM retrievals WHERE id = $retrieval),
    (SELECT record ->> 'picture' FROM page_captures WHERE id = $page),
    $sha256)`);

const absentState = selectOne<NonNullable<WithheldState['absent']>, [sha256: string]>(
  'SELECT peer, state, reason, since FROM absent_objects WHERE sha256 = ?',
);

/** Returns the withholdings in force of a target, oldest first, with those that cover its object, and the release of it. */
export function withheldState(database: ReadDatabase, asked: WithheldStateQuery): WithheldState {
  const { sha256 = null, retrieval = null, pack = null, page = null } = asked;
  const target: Target = { sha256, retrieval, pack, page };
  const object = objectOfTarget(database, target);
  const withheld = all<Withholding>(
    database,
    `SELECT ${COLUMNS}, ${OBJECTS} FROM ${CURRENT}
    WHERE t.target = ? OR w.ledger_entry IN (SELECT withholding FROM withheld_objects WHERE sha256 = ?)
    ORDER BY w.ledger_entry`,
    keyOf(target),
    object,
  );
  return {
    withheld,
    released: (object === undefined ? undefined : releaseOf(database, object)) ?? null,
    absent: (object === undefined ? undefined : absentState(database, object)) ?? null,
  };
}

/** Returns a page of the digests that a withholding covers, the largest first. */
export const withheldObjectsPage = selectPage<WithheldObject, [withholding: number]>({
  columns: 'o.sha256, b.bytes',
  from: 'withheld_objects o JOIN blobs b ON b.sha256 = o.sha256 WHERE o.withholding = ?',
  order: 'b.bytes DESC, o.sha256',
});

/** Returns the withholding that an entry `object.withheld` records, or the one that an entry `object.shown` ends. */
export const withholdingOfEntry = selectOne<WithholdingRow, [values: { entry: number }]>(`
  SELECT ${COLUMNS} FROM withholdings
  WHERE ledger_entry IN ($entry, (SELECT withheld FROM showings WHERE ledger_entry = $entry))`);

/** Returns a page of the releases, newest first. */
export const releasesPage = selectPage<Release>({
  columns: 'ledger_entry, sha256, bytes, reason, note, at',
  from: 'releases',
  order: 'ledger_entry DESC',
});

/** Iterates over all withholdings, those that ended included, in ledger order. */
export const iterateWithholdings = selectEach<WithholdingRow>(
  `SELECT ${COLUMNS} FROM withholdings ORDER BY ledger_entry`,
);
/** Iterates over the ends of withholdings, in ledger order. */
export const iterateShowings = selectEach<Shown>(
  'SELECT ledger_entry, withheld, at FROM showings ORDER BY ledger_entry',
);
/** Iterates over all releases, in ledger order. */
export const iterateReleases = selectEach<Release>(
  'SELECT ledger_entry, sha256, bytes, reason, note, at FROM releases ORDER BY ledger_entry',
);

/** Whether there is such a retrieval with an object, such a pack, or such a page capture. */
export const isRetrievalWithObject = hasRow<[id: number]>(
  'SELECT 1 FROM retrievals WHERE id = ? AND sha256 IS NOT NULL',
);
export const isPack = hasRow<[id: string]>('SELECT 1 FROM packs WHERE id = ?');
export const isPage = hasRow<[id: string]>('SELECT 1 FROM page_captures WHERE id = ?');

/** Removes a released digest from all withholdings: it has no bytes left to withhold. */
export const uncover = change<[sha256: string]>('DELETE FROM withheld_objects WHERE sha256 = ?');
