import type { ArchiveNode, StudyStatus } from '../../../../shared/archive/study.ts';
import type { Outcome, Tag, Verdict } from '../../../../shared/archive/vocabulary.ts';
import type { Slice } from '../../../../shared/values/list.ts';
import type { ReadDatabase, WriteDatabase } from '../engine/open.ts';
import {
  change,
  countRows,
  inserts,
  page,
  selectAll,
  selectEach,
  selectOne,
  selectPage,
  where,
} from '../engine/queries.ts';

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

const COLUMNS = 'ledger_entry, id, title, question, description, node, status, created_at';

export function insertStudy(database: WriteDatabase, study: StudyRow): void {
  insertRow(database, study);
  insertText(database, { ...study, rowid: study.ledger_entry, identity: study.id });
}
const insertRow = inserts<StudyRow>('studies', COLUMNS);
const insertText = inserts<StudyRow & { rowid: number; identity: string }>(
  'studies_search',
  'rowid, title, question, description, identity',
);

/** Adds a status to a study's history and makes it the current one. */
export function insertStatus(database: WriteDatabase, step: StatusRow): void {
  insertStep(database, step);
  setStatus(database, step);
}
const insertStep = inserts<StatusRow>('study_statuses', 'ledger_entry, study, status, note, at');
const setStatus = change<[StatusRow]>('UPDATE studies SET status = $status WHERE id = $study');

export const studyById = selectOne<StudyRow, [id: string]>(`SELECT ${COLUMNS} FROM studies WHERE id = ?`);

/**
 * Iterates over all studies with their initial status, in ledger order. The status is null if the first step of the
 * history was changed, or if the study's current status is not that of the last step.
 */
export const iterateStudies = selectEach<Omit<StudyRow, 'status'> & { status: StudyStatus | null }>(`
  SELECT s.ledger_entry, s.id, s.title, s.question, s.description, s.node, s.created_at,
    iif(h.study = s.id AND h.note = '' AND h.at = s.created_at AND s.status =
      (SELECT l.status FROM study_statuses l WHERE l.study = s.id ORDER BY l.ledger_entry DESC LIMIT 1),
      h.status, NULL) AS status
  FROM studies s LEFT JOIN study_statuses h ON h.ledger_entry = s.ledger_entry ORDER BY s.ledger_entry`);

/** Iterates over all status changes that have their own ledger entry, in ledger order. */
export const iterateStatuses = selectEach<StatusRow>(`
  SELECT h.ledger_entry, h.study, h.status, h.note, h.at FROM study_statuses h
  WHERE NOT EXISTS (SELECT 1 FROM studies s WHERE s.ledger_entry = h.ledger_entry) ORDER BY h.ledger_entry`);

/** Returns the histories of these studies, oldest step first. */
export const statusesOf = selectAll<StatusRow, [ids: readonly string[]]>(`
  SELECT h.ledger_entry, h.study, h.status, h.note, h.at
  FROM json_each(?) o JOIN study_statuses h ON h.study = o.value ORDER BY h.ledger_entry`);

interface StudyPackCount {
  study: string;
  outcome: Outcome;
  verdict: Verdict | null;
  packs: number;
}

/** Returns the number of packs of these studies, by outcome and verdict. */
export const packCountsOf = selectAll<StudyPackCount, [ids: readonly string[]]>(`
  SELECT p.study, p.outcome, p.verdict, count(*) AS packs FROM json_each(?) o JOIN packs p ON p.study = o.value
  GROUP BY p.study, p.outcome, p.verdict`);

/** A pack in the table of a study. The fields of its record are JSON texts. */
interface StudyPackRow {
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
export const packsOfStudy = selectAll<StudyPackRow, [id: string]>(`
  SELECT p.ledger_entry, p.id, p.tag, r.record -> '$.title' AS title, r.record -> '$.outcome' AS outcome,
    r.record -> '$.license' AS license, r.record -> '$.results' AS results,
    (SELECT count(*) FROM packs v WHERE v.replicates = p.id AND v.verdict = 'reproduced') AS reproduced,
    (SELECT count(*) FROM packs v WHERE v.replicates = p.id AND v.verdict = 'partial') AS partial,
    (SELECT count(*) FROM packs v WHERE v.replicates = p.id AND v.verdict = 'failed') AS failed
  FROM packs p JOIN pack_records r ON r.ledger_entry = p.ledger_entry
  WHERE p.study = ? ORDER BY p.ledger_entry`);

/** Returns the newest packs of a study that relate to other works, and how many there are. */
export function relatingPacks(
  database: ReadDatabase,
  study: string,
  limit: number,
): { rows: { id: string; title: string }[]; total: number } {
  const { items: rows, total } = relatingPage(database, { limit, offset: 0 }, study);
  return { rows, total };
}
const relatingPage = selectPage<{ id: string; title: string }, [study: string]>({
  columns: "p.id, r.record ->> '$.title' AS title",
  from: `packs p JOIN pack_records r ON r.ledger_entry = p.ledger_entry
    WHERE p.study = ? AND json_array_length(r.record, '$.related') > 0`,
  order: 'p.ledger_entry DESC',
});

interface StudySelection {
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
): Slice<StudyRow> {
  const selected = where(
    status !== undefined && ['status = ?', status],
    node !== undefined && [IN_SUBTREE, node, `${node}/`, `${node}0`],
    match !== undefined && [
      'ledger_entry IN (SELECT rowid FROM studies_search WHERE studies_search MATCH ?)',
      match,
    ],
  );
  return page(
    database,
    {
      columns: COLUMNS,
      from: `studies ${selected.where}`,
      order: 'ledger_entry DESC',
      values: selected.values,
    },
    { limit, offset },
  );
}

/** Matches a path and all paths below it: `0` is the character after `/`. */
const IN_SUBTREE = '(node = ? OR (node >= ? AND node < ?))';

/** Returns the number of studies directly at each tree node that has any. */
export function studyCountsByNode(database: ReadDatabase): Map<string, number> {
  return new Map(countsByNode(database).map(({ node, studies }) => [node, studies]));
}
const countsByNode = selectAll<{ node: string; studies: number }>(
  'SELECT node, count(*) AS studies FROM studies WHERE node IS NOT NULL GROUP BY node',
);

/** Returns the number of studies at a tree node and in its subtree. */
export function countStudiesBelow(database: ReadDatabase, node: string): number {
  return countInSubtree(database, node, `${node}/`, `${node}0`);
}
const countInSubtree = countRows<[node: string, from: string, until: string]>(
  `studies WHERE node IS NOT NULL AND ${IN_SUBTREE}`,
);

const NODE_COLUMNS = 'path, title, description, created_at, ledger_entry FROM nodes';

export const insertTreeNode = inserts<ArchiveNode & { parent: string | null }>(
  'nodes',
  'ledger_entry, path, parent, title, description, created_at',
);

export const treeNodeAt = selectOne<ArchiveNode, [path: string]>(`SELECT ${NODE_COLUMNS} WHERE path = ?`);

/** Returns the tree nodes at these paths, parents first. */
export const treeNodesAt = selectAll<ArchiveNode, [paths: readonly string[]]>(
  `SELECT ${NODE_COLUMNS} WHERE path IN (SELECT value FROM json_each(?)) ORDER BY length(path)`,
);

/** Returns all tree nodes, sorted by path, so that parents come first. */
export const allTreeNodes = selectAll<ArchiveNode>(`SELECT ${NODE_COLUMNS} ORDER BY path`);

/** Iterates over all tree nodes with their ledger entries, in ledger order. */
export const iterateTreeNodes = selectEach<ArchiveNode>(`SELECT ${NODE_COLUMNS} ORDER BY ledger_entry`);

/** Returns the newest children of a tree node. */
export const childrenOf = selectAll<ArchiveNode, [path: string, limit: number]>(
  `SELECT ${NODE_COLUMNS} WHERE parent = ? ORDER BY ledger_entry DESC LIMIT ?`,
);

export const countChildren = countRows<[path: string]>('nodes WHERE parent = ?');
