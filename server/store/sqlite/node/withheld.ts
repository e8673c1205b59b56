import type {
  RecordedWithholding,
  Release,
  Shown,
  WithheldObject,
  WithheldState,
  WithheldStateQuery,
  Withholding,
} from '../../../../shared/node/withheld.ts';
import type { ReadDatabase, WriteDatabase } from '../engine/open.ts';
import {
  change,
  hasRow,
  inserts,
  selectAll,
  selectEach,
  selectOne,
  selectPage,
  selectValue,
  selectValues,
} from '../engine/queries.ts';
import { cover, coverHandIn, coverJoined, coverPage } from './covered.ts';

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

/** The same, or whether nobody gave its bytes: one question before each read. */
export const isMarkedOrAbsent = hasRow<[values: { sha256: string }]>(
  `SELECT 1 FROM withheld_objects WHERE sha256 = $sha256
   UNION ALL SELECT 1 FROM releases WHERE sha256 = $sha256
   UNION ALL SELECT 1 FROM absent_objects WHERE sha256 = $sha256 LIMIT 1`,
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

/** Whether one of these digests was given up for another reason than its age: nothing that has its bytes is kept again. */
export const isAnyGivenUp = hasRow<[digests: readonly string[]]>(
  `SELECT 1 FROM json_each(?) j CROSS JOIN releases r ON r.sha256 = j.value WHERE r.reason <> 'age' LIMIT 1`,
);

/** Returns the release of a digest, or undefined. */
export const releaseOf = selectOne<Release, [sha256: string]>(
  'SELECT ledger_entry, sha256, bytes, reason, note, at FROM releases WHERE sha256 = ?',
);

/** Returns whether the bytes of a digest were given up. */
export const isReleased = hasRow<[sha256: string]>('SELECT 1 FROM releases WHERE sha256 = ?');

/** Returns a number that grows whenever a digest is withheld, for whatever reason, or given up. */
export const hidings = selectValue<number>(
  `SELECT value + coalesce((SELECT max(ledger_entry) FROM releases), 0) FROM counters WHERE name = 'coverings'`,
  0,
);

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

export type Target = Omit<RecordedWithholding, 'reason' | 'note' | 'at'>;

/** Returns the ledger entry of the withholding of a target that is in force, or undefined. */
export function currentWithholding(database: ReadDatabase, target: Target): number | undefined {
  return withholdingOfTarget(database, keyOf(target));
}
const withholdingOfTarget = selectValue<number, [target: string]>(
  'SELECT withholding FROM withheld_targets WHERE target = ?',
);

/** Inserts the record of a withholding alone. A restore does so, and `replayWithholdings` gives it its effect. */
export const insertWithholdingRecord = inserts<WithholdingRow>('withholdings', COLUMNS);

/** Inserts a withholding after its ledger entry. It replaces the one of the same target, whose digests stay covered. */
export function insertWithholding(database: WriteDatabase, row: WithholdingRow): void {
  insertWithholdingRecord(database, row);
  enforce(database, row);
}

function enforce(database: WriteDatabase, row: WithholdingRow): void {
  const target = keyOf(row);
  const replaced = withholdingOfTarget(database, target);
  if (replaced !== undefined) {
    // What it covered may be more than what is covered now: others may have brought the same bytes meanwhile.
    carryCovered(database, { replaced, withholding: row.ledger_entry });
    deleteTarget(database, replaced);
  }
  insertTarget(database, { target, withholding: row.ledger_entry });
  cover(database, row);
}

const carryCovered = change<[values: { replaced: number; withholding: number }]>(
  'UPDATE withheld_objects SET withholding = $withholding WHERE withholding = $replaced',
);
const insertTarget = inserts<{ target: string; withholding: number }>(
  'withheld_targets',
  'target, withholding',
);

/** Inserts the record of the end of a withholding alone; see `insertWithholdingRecord`. */
export const insertShowingRecord = inserts<Shown>('showings', 'ledger_entry, withheld, at');

/** Inserts the end of a withholding after its ledger entry. What other withholdings cover stays covered. */
export function insertShowing(database: WriteDatabase, row: Shown): void {
  insertShowingRecord(database, row);
  endWithholding(database, row.withheld);
}

function endWithholding(database: WriteDatabase, withholding: number): void {
  deleteTarget(database, withholding);
  deleteCovered(database, withholding);
}

const deleteTarget = change<[withholding: number]>('DELETE FROM withheld_targets WHERE withholding = ?');
const deleteCovered = change<[withholding: number]>('DELETE FROM withheld_objects WHERE withholding = ?');

type Change = 'withheld' | 'shown' | 'page' | 'hand_in';

/** What changes what is withheld, in the order of the ledger. */
const changesAfter = selectAll<{ entry: number; kind: Change }, [values: { after: number; limit: number }]>(`
  SELECT ledger_entry AS entry, 'withheld' AS kind FROM withholdings WHERE ledger_entry > $after
  UNION ALL SELECT ledger_entry, 'shown' FROM showings WHERE ledger_entry > $after
  UNION ALL SELECT ledger_entry, 'page' FROM page_captures
    WHERE ledger_entry > $after AND ledger_entry > (SELECT min(ledger_entry) FROM withholdings)
  UNION ALL SELECT ledger_entry, 'hand_in' FROM hand_ins
    WHERE ledger_entry > $after AND ledger_entry > (SELECT min(ledger_entry) FROM withholdings)
  ORDER BY 1 LIMIT $limit`);
const withholdingRow = selectOne<WithholdingRow, [entry: number]>(
  `SELECT ${COLUMNS} FROM withholdings WHERE ledger_entry = ?`,
);
const endedBy = selectValue<number, [entry: number]>('SELECT withheld FROM showings WHERE ledger_entry = ?');

/** Changes that are replayed in one step. */
const REPLAYED_AT_ONCE = 200;

/**
 * Withholds what the records say, in a restored archive whose records are all there and that withholds nothing yet. Each
 * record has the effect that it had when its entry was appended, in the order of the ledger. So a withholding covers what
 * it covered, whatever came later.
 */
export function* replayWithholdings(database: WriteDatabase): Generator<void, void, void> {
  for (let after = 0; ; ) {
    const changes = changesAfter(database, { after, limit: REPLAYED_AT_ONCE });
    for (const { entry, kind } of changes) replay(database, entry, kind);
    const last = changes.at(-1);
    // Sets may have become known after the withholdings. The order of the two makes no difference.
    if (!last) return coverJoined(database, allJoined(database) ?? '[]');
    after = last.entry;
    yield;
  }
}

const allJoined = selectValue<string>('SELECT json_group_array(json_array(sha256, part)) FROM joined_files');

function replay(database: WriteDatabase, entry: number, kind: Change): void {
  if (kind === 'page') return coverPage(database, entry);
  if (kind === 'hand_in') return coverHandIn(database, entry);
  if (kind === 'withheld') {
    const row = withholdingRow(database, entry);
    return row && enforce(database, row);
  }
  return endWithholding(database, endedBy(database, entry) ?? 0);
}

export const insertRelease = inserts<Release>('releases', 'ledger_entry, sha256, bytes, reason, note, at');

/** What was given up stays covered, and has no bytes left that could be shown. */
const OBJECTS = `(SELECT count(*) FROM withheld_objects o
  WHERE o.withholding = w.ledger_entry AND NOT ${isReleasedSql('o.sha256')}) AS objects`;

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
  'SELECT peer, state, reason, since FROM absent_objects WHERE sha256 = ? ORDER BY since, peer LIMIT 1',
);

const withholdingsOf = selectAll<Withholding, [target: string, sha256: string | undefined]>(`
  SELECT ${COLUMNS}, ${OBJECTS} FROM ${CURRENT}
  WHERE t.target = ? OR w.ledger_entry IN (SELECT withholding FROM withheld_objects o
    WHERE o.sha256 = ? AND NOT ${isReleasedSql('o.sha256')})
  ORDER BY w.ledger_entry`);

/** Returns the withholdings in force of a target, oldest first, with those that cover its object, and the release of it. */
export function withheldState(database: ReadDatabase, asked: WithheldStateQuery): WithheldState {
  const { sha256 = null, retrieval = null, pack = null, page = null } = asked;
  const target: Target = { sha256, retrieval, pack, page };
  const object = objectOfTarget(database, target);
  const withheld = withholdingsOf(database, keyOf(target), object);
  return {
    withheld,
    released: (object === undefined ? undefined : releaseOf(database, object)) ?? null,
    absent: (object === undefined ? undefined : absentState(database, object)) ?? null,
  };
}

/** Returns a page of the digests that a withholding covers and that were not given up, the largest first. */
export const withheldObjectsPage = selectPage<WithheldObject, [withholding: number]>({
  columns: 'o.sha256, b.bytes',
  from: `withheld_objects o JOIN blobs b ON b.sha256 = o.sha256
    WHERE o.withholding = ? AND NOT ${isReleasedSql('o.sha256')}`,
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
