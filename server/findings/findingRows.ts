import type {
  Finding,
  FindingTarget,
  Passage,
  PassageAnchor,
  RecordedFinding,
} from '../../shared/findings/finding.ts';
import type { Slice } from '../../shared/values/list.ts';
import type { ReadDatabase, WriteDatabase } from '../store/sqlite/engine/open.ts';
import {
  change,
  count,
  each,
  hasRow,
  inserts,
  page,
  selectAll,
  selectEach,
  selectOne,
  selectValue,
  where,
} from '../store/sqlite/engine/queries.ts';
import { isReleasedSql, isWithheldSql } from '../store/sqlite/node/withheld.ts';
import type { Reader } from '../withholding/withholding.ts';

/* The rows of findings, and the lists of them. */

/** A finding as the ledger covers it, with its entry. */
type FindingRow = RecordedFinding & { ledger_entry: number };

interface Stored {
  ledger_entry: number;
  id: string;
  at: string;
  target_kind: FindingTarget['kind'];
  target_id: string;
  text: string;
  tags: string;
  passage: string | null;
  supersedes: string | null;
  withdrawal: string | null;
}

const COLUMNS = `f.ledger_entry, f.id, f.at, f.target_kind, f.target_id, f.text, f.tags, f.passage, f.supersedes,
  f.withdrawal`;

const STORED_COLUMNS = `ledger_entry, id, at, target_kind, target_id, text, tags, passage, passage_sha256, supersedes,
  withdrawal`;

/** The name of the target of a row `f`. */
export const TARGET_NAME = `CASE f.target_kind
  WHEN 'event' THEN (SELECT coalesce(nullif(s.name, ''), s.url) FROM events e JOIN sources s ON s.key = e.source_key
    WHERE e.id = CAST(f.target_id AS INTEGER))
  WHEN 'pack' THEN (SELECT r.record ->> 'title' FROM packs p JOIN pack_records r USING (ledger_entry)
    WHERE p.id = f.target_id)
  ELSE f.target_id END AS target_name`;

const ANCHOR = '(SELECT a.anchor FROM passage_anchors a WHERE a.ledger_entry = f.ledger_entry) AS anchor';

/** The seal of a finding that was revealed. */
const SEAL = `(SELECT json_object('at', l.at, 'commitment', l.digest, 'salt', r.salt) FROM revealed_findings r
  JOIN ledger l ON l.seq = r.sealed_entry WHERE r.ledger_entry = f.ledger_entry) AS seal`;

const FINDING_COLUMNS = `${COLUMNS}, ${TARGET_NAME}, ${ANCHOR}, ${SEAL},
  (SELECT n.id FROM findings n WHERE n.supersedes = f.id) AS superseded_by`;

/** Inserts a finding with its rows in the index. It ends the finding that it supersedes. */
export function insertFinding(database: WriteDatabase, finding: FindingRow, targetText: string): void {
  const { ledger_entry, target, text, tags, passage, supersedes, withdrawal } = finding;
  insertStored(database, {
    ...finding,
    target_kind: target.kind,
    target_id: target.id,
    tags: JSON.stringify(tags),
    passage: passage === null ? null : JSON.stringify(passage),
    passage_sha256: passage?.sha256 ?? null,
  });
  insertSearched(database, {
    rowid: ledger_entry,
    text: withdrawal ?? text,
    tags: tags.join(' '),
    quote: passage?.exact ?? '',
    target: `${finding.id} ${targetText}`,
  });
  if (supersedes !== null) setSuperseded(database, supersedes);
  if (withdrawal !== null) return;
  insertCurrent(database, { ledger_entry });
  for (const tag of tags) insertTag(database, { tag, ledger_entry });
}

const insertStored = inserts<Stored & { passage_sha256: string | null }>('findings', STORED_COLUMNS);

const insertSearched = inserts<{ rowid: number; text: string; tags: string; quote: string; target: string }>(
  'findings_search',
  'rowid, text, tags, quote, target',
);

const setSuperseded = change<[id: string]>(
  'DELETE FROM current_findings WHERE ledger_entry = (SELECT ledger_entry FROM findings WHERE id = ?)',
);

const insertCurrent = inserts<{ ledger_entry: number }>('current_findings', 'ledger_entry');

const insertTag = inserts<{ tag: string; ledger_entry: number }>('finding_tags', 'tag, ledger_entry');

export const findingById = selectOne<StoredFinding, [id: string], Finding>(
  `SELECT ${FINDING_COLUMNS} FROM findings f WHERE f.id = ?`,
  findingOf,
);

/** Returns a finding with all it supersedes and all that supersede it, oldest first. */
export const historyOf = selectAll<StoredFinding, [{ id: string }], Finding>(
  `WITH RECURSIVE
     older (id) AS (SELECT $id UNION SELECT f.supersedes FROM older o JOIN findings f ON f.id = o.id
       WHERE f.supersedes IS NOT NULL),
     newer (id) AS (SELECT $id UNION SELECT f.id FROM newer n JOIN findings f ON f.supersedes = n.id)
   SELECT ${FINDING_COLUMNS} FROM findings f
   WHERE f.id IN (SELECT id FROM older UNION SELECT id FROM newer) ORDER BY f.ledger_entry`,
  findingOf,
);

/** Iterates over all findings in ledger order, as the ledger covers them. */
export function* iterateFindings(database: ReadDatabase): Generator<FindingRow> {
  for (const row of storedFindings(database)) yield recordOf(row);
}

const storedFindings = selectEach<Stored>(`SELECT ${COLUMNS} FROM findings f ORDER BY f.ledger_entry`);

interface StoredFinding extends Stored {
  target_name: string | null;
  anchor: string | null;
  seal: string | null;
  superseded_by: string | null;
}

function recordOf({ target_kind, target_id, tags, passage, ...row }: Stored): FindingRow {
  const { ledger_entry, id, at, text, supersedes, withdrawal } = row;
  return {
    ledger_entry,
    id,
    at,
    target: { kind: target_kind, id: target_id },
    text,
    tags: JSON.parse(tags) as string[],
    passage: passage === null ? null : (JSON.parse(passage) as Passage),
    supersedes,
    withdrawal,
  };
}

function findingOf(row: StoredFinding): Finding {
  const { target_name, superseded_by, anchor, seal } = row;
  const finding = recordOf(row);
  return {
    ...finding,
    target_name: target_name ?? row.target_id,
    superseded_by,
    anchor: anchor === null ? null : (JSON.parse(anchor) as PassageAnchor),
    ...(seal !== null && {
      sealed: {
        ...(JSON.parse(seal) as { at: string; commitment: string; salt: string }),
        record: recordOfFinding(finding),
      },
    }),
  };
}

/** Which findings a list has. */
export interface FindingSelection {
  /** An expression of `matchExpression`. */
  match: string | undefined;
  tag: string | undefined;
  target: FindingTarget | undefined;
  state: 'current' | 'superseded' | 'withdrawn' | 'all';
  /** A search finds no words of a quotation that this reader may not read. */
  reader: Reader;
}

const STATES = {
  current: 'f.ledger_entry IN (SELECT ledger_entry FROM current_findings)',
  superseded: 'EXISTS (SELECT 1 FROM findings n WHERE n.supersedes = f.id)',
  withdrawn: 'f.withdrawal IS NOT NULL',
  all: 'TRUE',
} as const;

const MATCHES = 'SELECT rowid FROM findings_search WHERE findings_search MATCH ?';

/** The digests of the target of a row `f`: of an event both versions, of a pack its files, of a set those of its parts, too. */
const OBJECTS_OF_TARGET = `
  SELECT f.target_id AS sha256 WHERE f.target_kind = 'object'
  UNION ALL SELECT e.sha256 FROM events e WHERE f.target_kind = 'event' AND e.id = CAST(f.target_id AS INTEGER)
  UNION ALL SELECT e.previous_sha256 FROM events e
    WHERE f.target_kind = 'event' AND e.id = CAST(f.target_id AS INTEGER)
  UNION ALL SELECT o.sha256 FROM packs p CROSS JOIN pack_files o ON o.pack = p.ledger_entry
    WHERE f.target_kind = 'pack' AND p.id = f.target_id
  UNION ALL SELECT o.sha256 FROM packs m CROSS JOIN set_parts s ON s.manifest = m.ledger_entry
    CROSS JOIN packs p ON p.id = s.part CROSS JOIN pack_files o ON o.pack = p.ledger_entry
    WHERE f.target_kind = 'pack' AND m.id = f.target_id`;

/**
 * Selects one digest that a reader may not read: that which the passage of a row `f` quotes, or any of its target if the passage
 * has no digest.
 */
const hiddenQuoteSql = ({ owner }: Reader) => `
  SELECT o.sha256 FROM (
    SELECT f.passage_sha256 AS sha256 WHERE f.passage_sha256 IS NOT NULL
    UNION ALL SELECT t.sha256 FROM (${OBJECTS_OF_TARGET}) t WHERE f.passage_sha256 IS NULL
  ) o WHERE ${isReleasedSql('o.sha256')}${owner ? '' : ` OR ${isWithheldSql('o.sha256')}`} LIMIT 1`;
const hasHiddenQuoteSql = (reader: Reader) =>
  `(f.passage IS NOT NULL AND EXISTS (${hiddenQuoteSql(reader)}))`;

const hiddenOfTargetFor = (reader: Reader) =>
  selectValue<string | null, [target: FindingTarget]>(
    `SELECT (${hiddenQuoteSql(reader)})
     FROM (SELECT $kind AS target_kind, $id AS target_id, NULL AS passage_sha256) f`,
  );
const hiddenOfTargetForOwner = hiddenOfTargetFor({ owner: true });
const hiddenOfTargetForVisitors = hiddenOfTargetFor({ owner: false });

/** Returns a digest of a target that a reader may not read because it is withheld or was given up; undefined if there is none. */
export function hiddenOfTarget(
  database: ReadDatabase,
  target: FindingTarget,
  { owner }: Reader,
): string | undefined {
  return (owner ? hiddenOfTargetForOwner : hiddenOfTargetForVisitors)(database, target) ?? undefined;
}

/** What follows `FROM` in a query of the selected findings. */
function selected({ match, tag, target, state, reader }: FindingSelection): {
  from: string;
  values: unknown[];
} {
  const { where: conditions, values } = where(
    [STATES[state]],
    match !== undefined && [`f.ledger_entry IN (${MATCHES})`, match],
    match !== undefined && [
      `(NOT ${hasHiddenQuoteSql(reader)} OR f.ledger_entry IN (${MATCHES}))`,
      `- quote : (${match})`,
    ],
    tag !== undefined && ['f.ledger_entry IN (SELECT ledger_entry FROM finding_tags WHERE tag = ?)', tag],
    target?.kind === 'object' && [
      "((f.target_kind = 'object' AND f.target_id = ?) OR f.passage_sha256 = ?)",
      target.id,
      target.id,
    ],
    target !== undefined &&
      target.kind !== 'object' && ['f.target_kind = ? AND f.target_id = ?', target.kind, target.id],
  );
  return { from: `findings f ${conditions}`, values };
}

/** Returns a page of the selected findings, newest first. */
export function selectFindings(
  database: ReadDatabase,
  selection: FindingSelection,
  slice: { limit: number; offset: number },
): Slice<Finding> {
  const listing = { ...selected(selection), columns: FINDING_COLUMNS, order: 'f.ledger_entry DESC' };
  const { items, total } = page<StoredFinding>(database, listing, slice);
  return { items: items.map(findingOf), total };
}

export function countFindings(database: ReadDatabase, selection: FindingSelection): number {
  const { from, values } = selected(selection);
  return count(database, from, ...values);
}

/** Iterates over the selected findings, oldest first. The caller has a snapshot. */
export function* iterateSelected(database: ReadDatabase, selection: FindingSelection): Generator<Finding> {
  const { from, values } = selected(selection);
  const sql = `SELECT ${FINDING_COLUMNS} FROM ${from} ORDER BY f.ledger_entry`;
  for (const row of each<StoredFinding>(database, sql, ...values)) yield findingOf(row);
}

/** What a finding about a target is found by; undefined if the archive does not hold the target. */
export function targetText(database: ReadDatabase, { kind, id }: FindingTarget): string | undefined {
  return TARGET_TEXTS[kind](database, id);
}

const TARGET_TEXTS = {
  event: selectValue<string, [id: string]>(`
    SELECT 'event ' || e.id || ' ' || s.url || ' ' || s.name || ' ' || coalesce(e.sha256, '') || ' ' ||
      coalesce(e.previous_sha256, '') FROM events e JOIN sources s ON s.key = e.source_key
    WHERE e.id = CAST(? AS INTEGER)`),
  pack: selectValue<string, [id: string]>(`SELECT p.id || ' ' || p.digest || ' ' || (r.record ->> 'title')
    FROM packs p JOIN pack_records r USING (ledger_entry) WHERE p.id = ?`),
  object: selectValue<string, [id: string]>('SELECT sha256 FROM blobs WHERE sha256 = ?'),
};

/** Whether an object belongs to a target: it is the object, a version of the event, or a file of the pack. */
export function isObjectOf(database: ReadDatabase, { kind, id }: FindingTarget, sha256: string): boolean {
  return kind === 'object' ? sha256 === id : IS_OBJECT_OF[kind](database, { id, sha256 });
}

const IS_OBJECT_OF = {
  event: hasRow<[{ id: string; sha256: string }]>(
    'SELECT 1 FROM events WHERE id = CAST($id AS INTEGER) AND $sha256 IN (sha256, previous_sha256)',
  ),
  pack: hasRow<
    [{ id: string; sha256: string }]
  >(`SELECT 1 FROM packs p JOIN pack_files f ON f.pack = p.ledger_entry
    WHERE p.id = $id AND f.sha256 = $sha256`),
};

/** Returns the members of a finding that the ledger covers. */
export function recordOfFinding(finding: RecordedFinding): RecordedFinding {
  const { id, at, target, text, tags, passage, supersedes, withdrawal } = finding;
  return { id, at, target, text, tags, passage, supersedes, withdrawal };
}
