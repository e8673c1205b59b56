import type {
  Finding,
  FindingTarget,
  Passage,
  RecordedFinding,
} from '../../../../shared/findings/finding.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

/** A finding as the ledger covers it, with its entry. */
export type FindingRow = RecordedFinding & { ledger_entry: number };

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

const TARGET_NAME = `CASE f.target_kind
  WHEN 'event' THEN (SELECT coalesce(nullif(s.name, ''), s.url) FROM events e JOIN sources s ON s.key = e.source_key
    WHERE e.id = CAST(f.target_id AS INTEGER))
  WHEN 'pack' THEN (SELECT r.record ->> 'title' FROM packs p JOIN pack_records r USING (ledger_entry)
    WHERE p.id = f.target_id)
  ELSE f.target_id END AS target_name`;

const FINDING = `${COLUMNS}, ${TARGET_NAME},
  (SELECT n.id FROM findings n WHERE n.supersedes = f.id) AS superseded_by FROM findings f`;

/** Inserts a finding with its rows in the index. It ends the finding that it supersedes. */
export function insertFinding(database: WriteDatabase, finding: FindingRow, targetText: string): void {
  const { ledger_entry, target, text, tags, passage, supersedes, withdrawal } = finding;
  statement(
    database,
    `INSERT INTO findings (ledger_entry, id, at, target_kind, target_id, text, tags, passage, passage_sha256,
       supersedes, withdrawal)
     VALUES ($ledger_entry, $id, $at, $target_kind, $target_id, $text, $tags, $passage, $passage_sha256, $supersedes,
       $withdrawal)`,
  ).run({
    ...finding,
    target_kind: target.kind,
    target_id: target.id,
    tags: JSON.stringify(tags),
    passage: passage === null ? null : JSON.stringify(passage),
    passage_sha256: passage?.sha256 ?? null,
  });
  statement(
    database,
    'INSERT INTO findings_search (rowid, text, tags, quote, target) VALUES (?, ?, ?, ?, ?)',
  ).run(
    ledger_entry,
    withdrawal ?? text,
    tags.join(' '),
    passage?.exact ?? '',
    `${finding.id} ${targetText}`,
  );
  if (supersedes !== null) {
    statement(
      database,
      'DELETE FROM current_findings WHERE ledger_entry = (SELECT ledger_entry FROM findings WHERE id = ?)',
    ).run(supersedes);
  }
  if (withdrawal !== null) return;
  statement(database, 'INSERT INTO current_findings (ledger_entry) VALUES (?)').run(ledger_entry);
  for (const tag of tags) {
    statement(database, 'INSERT INTO finding_tags (tag, ledger_entry) VALUES (?, ?)').run(tag, ledger_entry);
  }
}

export function findingById(database: ReadDatabase, id: string): Finding | undefined {
  const row = statement<StoredFinding>(database, `SELECT ${FINDING} WHERE f.id = ?`).get(id);
  return row && findingOf(row);
}

/** Returns a finding with all it supersedes and all that supersede it, oldest first. */
export function historyOf(database: ReadDatabase, id: string): Finding[] {
  return statement<StoredFinding>(
    database,
    `WITH RECURSIVE
       older (id) AS (SELECT ? UNION SELECT f.supersedes FROM older o JOIN findings f ON f.id = o.id
         WHERE f.supersedes IS NOT NULL),
       newer (id) AS (SELECT ? UNION SELECT f.id FROM newer n JOIN findings f ON f.supersedes = n.id)
     SELECT ${FINDING} WHERE f.id IN (SELECT id FROM older UNION SELECT id FROM newer) ORDER BY f.ledger_entry`,
  )
    .all(id, id)
    .map(findingOf);
}

/** Iterates over all findings in ledger order, as the ledger covers them. */
export function* iterateFindings(database: ReadDatabase): Generator<FindingRow> {
  for (const row of statement<Stored>(
    database,
    `SELECT ${COLUMNS} FROM findings f ORDER BY f.ledger_entry`,
  ).iterate())
    yield recordOf(row);
}

interface StoredFinding extends Stored {
  target_name: string | null;
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
  const { target_name, superseded_by } = row;
  return { ...recordOf(row), target_name: target_name ?? row.target_id, superseded_by };
}

/** Which findings a list has. */
export interface FindingSelection {
  /** An expression of `matchExpression`. */
  match: string | undefined;
  tag: string | undefined;
  target: FindingTarget | undefined;
  state: 'current' | 'superseded' | 'withdrawn' | 'all';
}

const STATES = {
  current: 'f.ledger_entry IN (SELECT ledger_entry FROM current_findings)',
  superseded: 'EXISTS (SELECT 1 FROM findings n WHERE n.supersedes = f.id)',
  withdrawn: 'f.withdrawal IS NOT NULL',
  all: 'TRUE',
} as const;

function conditionOf({ match, tag, target, state }: FindingSelection): {
  where: string;
  values: string[];
} {
  const terms: string[] = [STATES[state]];
  const values: string[] = [];
  const add = (term: string, ...given: string[]) => {
    terms.push(term);
    values.push(...given);
  };
  if (match !== undefined)
    add('f.ledger_entry IN (SELECT rowid FROM findings_search WHERE findings_search MATCH ?)', match);
  if (tag !== undefined) add('f.ledger_entry IN (SELECT ledger_entry FROM finding_tags WHERE tag = ?)', tag);
  if (target?.kind === 'object') {
    add("((f.target_kind = 'object' AND f.target_id = ?) OR f.passage_sha256 = ?)", target.id, target.id);
  } else if (target) add('f.target_kind = ? AND f.target_id = ?', target.kind, target.id);
  return { where: terms.join(' AND '), values };
}

/** Returns a page of findings, newest first, and the number of all that are selected. */
export function selectFindings(
  database: ReadDatabase,
  selection: FindingSelection,
  { limit, offset }: { limit: number; offset: number },
): { items: Finding[]; total: number } {
  const { where, values } = conditionOf(selection);
  const total = countFindings(database, selection);
  const items = statement<StoredFinding>(
    database,
    `SELECT ${FINDING} WHERE ${where} ORDER BY f.ledger_entry DESC LIMIT ? OFFSET ?`,
  ).all(...values, limit, offset);
  return { items: items.map(findingOf), total };
}

export function countFindings(database: ReadDatabase, selection: FindingSelection): number {
  const { where, values } = conditionOf(selection);
  return (
    statement<{ total: number }>(database, `SELECT count(*) AS total FROM findings f WHERE ${where}`).get(
      ...values,
    )?.total ?? 0
  );
}

/** Iterates over the selected findings, oldest first. The caller has a snapshot. */
export function* iterateSelected(database: ReadDatabase, selection: FindingSelection): Generator<Finding> {
  const { where, values } = conditionOf(selection);
  const rows = statement<StoredFinding>(
    database,
    `SELECT ${FINDING} WHERE ${where} ORDER BY f.ledger_entry`,
  ).iterate(...values);
  for (const row of rows) yield findingOf(row);
}

/** Returns the most frequent tags of current findings. */
export function selectFindingTags(
  database: ReadDatabase,
  limit: number,
): { tag: string; findings: number }[] {
  return statement<{ tag: string; findings: number }>(
    database,
    `SELECT t.tag, count(*) AS findings FROM finding_tags t JOIN current_findings USING (ledger_entry)
     GROUP BY t.tag ORDER BY findings DESC, t.tag LIMIT ?`,
  ).all(limit);
}

/** What a finding about a target is found by; undefined if the archive does not hold the target. */
export function targetText(database: ReadDatabase, { kind, id }: FindingTarget): string | undefined {
  const sql = {
    event: `SELECT 'event ' || e.id || ' ' || s.url || ' ' || s.name || ' ' || coalesce(e.sha256, '') || ' ' ||
      coalesce(e.previous_sha256, '') AS text FROM events e JOIN sources s ON s.key = e.source_key
      WHERE e.id = CAST(? AS INTEGER)`,
    pack: `SELECT p.id || ' ' || p.digest || ' ' || (r.record ->> 'title') AS text
      FROM packs p JOIN pack_records r USING (ledger_entry) WHERE p.id = ?`,
    object: 'SELECT sha256 AS text FROM blobs WHERE sha256 = ?',
  }[kind];
  return statement<{ text: string }>(database, sql).get(id)?.text;
}

/** Whether an object belongs to a target: it is the object, a version of the event, or a file of the pack. */
export function isObjectOf(database: ReadDatabase, { kind, id }: FindingTarget, sha256: string): boolean {
  if (kind === 'object') return sha256 === id;
  const sql = {
    event:
      'SELECT 1 AS found FROM events WHERE id = CAST($id AS INTEGER) AND $sha256 IN (sha256, previous_sha256)',
    pack: `SELECT 1 AS found FROM packs p JOIN pack_files f ON f.pack = p.ledger_entry
      WHERE p.id = $id AND f.sha256 = $sha256`,
  }[kind];
  return statement(database, sql).get({ id, sha256 }) !== undefined;
}
