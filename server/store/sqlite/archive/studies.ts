import type { StudyStatus } from '../../../../shared/archive/study.ts';
import type { Outcome, Tag, Verdict } from '../../../../shared/archive/vocabulary.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

export interface StudyRow {
  ledger_entry: number;
  id: string;
  title: string;
  question: string;
  description: string;
  node: string | null;
  status: StudyStatus;
  created_at: string;
}

export interface StatusRow {
  ledger_entry: number;
  study: string;
  status: StudyStatus;
  note: string;
  at: string;
}

const COLUMNS = 'ledger_entry, id, title, question, description, node, status, created_at FROM studies';

export function insertStudy(database: WriteDatabase, study: StudyRow): void {
  statement(
    database,
    `INSERT INTO studies (ledger_entry, id, title, question, description, node, status, created_at)
     VALUES ($ledger_entry, $id, $title, $question, $description, $node, $status, $created_at)`,
  ).run(study);
  statement(
    database,
    `INSERT INTO studies_search (rowid, title, question, description, identity)
     VALUES ($ledger_entry, $title, $question, $description, $id)`,
  ).run(study);
}

/** Adds a status to a study's history and makes it the current one. */
export function insertStatus(database: WriteDatabase, step: StatusRow): void {
  statement(
    database,
    `INSERT INTO study_statuses (ledger_entry, study, status, note, at)
     VALUES ($ledger_entry, $study, $status, $note, $at)`,
  ).run(step);
  statement(database, 'UPDATE studies SET status = $status WHERE id = $study').run(step);
}

export function studyById(database: ReadDatabase, id: string): StudyRow | undefined {
  return statement<StudyRow>(database, `SELECT ${COLUMNS} WHERE id = ?`).get(id);
}

/**
 * Iterates over all studies with their initial status, in ledger order. The status is null if the first step of the
 * history was changed, or if the study's current status is not that of the last step.
 */
export function iterateStudies(
  database: ReadDatabase,
): IterableIterator<Omit<StudyRow, 'status'> & { status: StudyStatus | null }> {
  return statement<Omit<StudyRow, 'status'> & { status: StudyStatus | null }>(
    database,
    `SELECT s.ledger_entry, s.id, s.title, s.question, s.description, s.node, s.created_at,
       iif(h.study = s.id AND h.note = '' AND h.at = s.created_at AND s.status =
         (SELECT l.status FROM study_statuses l WHERE l.study = s.id ORDER BY l.ledger_entry DESC LIMIT 1),
         h.status, NULL) AS status
     FROM studies s LEFT JOIN study_statuses h ON h.ledger_entry = s.ledger_entry ORDER BY s.ledger_entry`,
  ).iterate();
}

/** Iterates over all status changes that have their own ledger entry, in ledger order. */
export function iterateStatuses(database: ReadDatabase): IterableIterator<StatusRow> {
  return statement<StatusRow>(
    database,
    `SELECT h.ledger_entry, h.study, h.status, h.note, h.at FROM study_statuses h
     WHERE NOT EXISTS (SELECT 1 FROM studies s WHERE s.ledger_entry = h.ledger_entry) ORDER BY h.ledger_entry`,
  ).iterate();
}

/** Returns the histories of these studies, oldest step first. */
export function statusesOf(database: ReadDatabase, ids: readonly string[]): StatusRow[] {
  return statement<StatusRow>(
    database,
    `SELECT h.ledger_entry, h.study, h.status, h.note, h.at
     FROM json_each(?) o JOIN study_statuses h ON h.study = o.value ORDER BY h.ledger_entry`,
  ).all(JSON.stringify(ids));
}

export interface StudyPackCount {
  study: string;
  outcome: Outcome;
  verdict: Verdict | null;
  packs: number;
}

/** Returns the number of packs of these studies, by outcome and verdict. */
export function packCountsOf(database: ReadDatabase, ids: readonly string[]): StudyPackCount[] {
  return statement<StudyPackCount>(
    database,
    `SELECT p.study, p.outcome, p.verdict, count(*) AS packs FROM json_each(?) o JOIN packs p ON p.study = o.value
     GROUP BY p.study, p.outcome, p.verdict`,
  ).all(JSON.stringify(ids));
}

/** A pack in the table of a study. The fields of its record are JSON texts. */
export interface StudyPackRow {
  ledger_entry: number;
  id: string;
  tag: Tag;
  title: string;
  outcome: string;
  license: string;
  results: string;
  reproduced: number;
  partial: number;
  failed: number;
}

/** Returns the packs of a study with the number of verdicts on each, oldest first. */
export function packsOfStudy(database: ReadDatabase, id: string): StudyPackRow[] {
  return statement<StudyPackRow>(
    database,
    `SELECT p.ledger_entry, p.id, p.tag, r.record -> '$.title' AS title, r.record -> '$.outcome' AS outcome,
       r.record -> '$.license' AS license, r.record -> '$.results' AS results,
       (SELECT count(*) FROM packs v WHERE v.replicates = p.id AND v.verdict = 'reproduced') AS reproduced,
       (SELECT count(*) FROM packs v WHERE v.replicates = p.id AND v.verdict = 'partial') AS partial,
       (SELECT count(*) FROM packs v WHERE v.replicates = p.id AND v.verdict = 'failed') AS failed
     FROM packs p JOIN pack_records r ON r.ledger_entry = p.ledger_entry
     WHERE p.study = ? ORDER BY p.ledger_entry`,
  ).all(id);
}

/** Returns the newest packs of a study that relate to other works, and how many there are. */
export function relatingPacks(
  database: ReadDatabase,
  study: string,
  limit: number,
): { rows: { id: string; title: string }[]; total: number } {
  const from = `FROM packs p JOIN pack_records r ON r.ledger_entry = p.ledger_entry
    WHERE p.study = ? AND json_array_length(r.record, '$.related') > 0`;
  const total = statement<number>(database, `SELECT count(*) ${from}`).pluck().get(study) ?? 0;
  const rows = statement<{ id: string; title: string }>(
    database,
    `SELECT p.id, r.record ->> '$.title' AS title ${from} ORDER BY p.ledger_entry DESC LIMIT ?`,
  ).all(study, limit);
  return { rows, total };
}

export interface StudySelection {
  status: StudyStatus | undefined;
  /** The path of a tree node; its subtree is included. */
  node: string | undefined;
  /** An expression of `matchExpression`. */
  match: string | undefined;
  limit: number;
  offset: number;
}

/** Returns a page of studies, newest first, and the total number of matches. */
export function selectStudies(
  database: ReadDatabase,
  { status, node, match, limit, offset }: StudySelection,
): { rows: StudyRow[]; total: number } {
  const conditions: string[] = [];
  const values: (string | number)[] = [];
  if (status !== undefined) {
    conditions.push('status = ?');
    values.push(status);
  }
  if (node !== undefined) {
    conditions.push(IN_SUBTREE);
    values.push(node, `${node}/`, `${node}0`);
  }
  if (match !== undefined) {
    conditions.push('ledger_entry IN (SELECT rowid FROM studies_search WHERE studies_search MATCH ?)');
    values.push(match);
  }
  const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
  const total =
    statement<{ total: number }>(database, `SELECT count(*) AS total FROM studies ${where}`).get(...values)
      ?.total ?? 0;
  const rows = statement<StudyRow>(
    database,
    `SELECT ${COLUMNS} ${where} ORDER BY ledger_entry DESC LIMIT ? OFFSET ?`,
  ).all(...values, limit, offset);
  return { rows, total };
}

/** Matches a path and all paths below it: `0` is the character after `/`. */
const IN_SUBTREE = '(node = ? OR (node >= ? AND node < ?))';

/** Returns the number of studies directly at each tree node that has any. */
export function studyCountsByNode(database: ReadDatabase): Map<string, number> {
  const rows = statement<{ node: string; studies: number }>(
    database,
    'SELECT node, count(*) AS studies FROM studies WHERE node IS NOT NULL GROUP BY node',
  ).all();
  return new Map(rows.map(({ node, studies }) => [node, studies]));
}

/** Returns the number of studies at a tree node and in its subtree. */
export function countStudiesBelow(database: ReadDatabase, node: string): number {
  const row = statement<{ studies: number }>(
    database,
    `SELECT count(*) AS studies FROM studies WHERE node IS NOT NULL AND ${IN_SUBTREE}`,
  ).get(node, `${node}/`, `${node}0`);
  return row?.studies ?? 0;
}
