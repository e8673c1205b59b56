import type { ResultValue } from '../../shared/archive/pack.ts';
import {
  type ArchiveNode,
  type NewNode,
  type NewStudy,
  type NewStudyStatus,
  STUDY_TRANSITIONS,
  type StudiesQuery,
  type Study,
  type StudyTable,
  type TreeNode,
} from '../../shared/archive/study.ts';
import { OUTCOMES, VERDICTS } from '../../shared/archive/vocabulary.ts';
import { MAX_NODE_LISTING } from '../../shared/limits.ts';
import { Problem } from '../../shared/problems.ts';
import type { NodePage } from '../../shared/routes/archive/archive.ts';
import type { Slice } from '../../shared/values/list.ts';
import { csvLines } from '../csv.ts';
import { appendEntry } from '../ledger/appendEntry.ts';
import { packCounts, selectPacks } from '../store/sqlite/archive/packLists.ts';
import {
  allTreeNodes,
  childrenOf,
  countChildren,
  countStudiesBelow,
  insertStatus,
  insertStudy,
  insertTreeNode,
  packCountsOf,
  packsOfStudy,
  type StudyRow,
  selectStudies,
  statusesOf,
  studyById,
  studyCountsByNode,
  treeNodeAt,
  treeNodesAt,
} from '../store/sqlite/archive/studies.ts';
import type { ReadDatabase, WriteDatabase } from '../store/sqlite/engine/open.ts';
import { onSnapshot } from '../store/sqlite/engine/queries.ts';
import { matchExpression } from '../store/sqlite/engine/search.ts';
import type { ReadStore, Store } from '../store/store.ts';
import { pathPrefixes } from './packs/packRows.ts';
import { packTexts } from './packs/readPack.ts';
import { nodeDigest, statusDigest, studyDigest } from './recordedSubjects.ts';

/** @param id the id of a study that is mirrored; a new one by default. @throws Problem `unknown_node` */
export async function createStudy(
  store: Store,
  requested: NewStudy,
  id = `st_${store.randomHex(20)}`,
  onRecorded: (database: WriteDatabase) => void = () => undefined,
): Promise<Study> {
  await store.write((database) => {
    if (requested.node !== null && !treeNodeAt(database, requested.node)) {
      const message = `There is no subject ${requested.node}. Create it first, or omit it.`;
      throw new Problem('unknown_node', message, { errors: [{ path: '/node', message }] });
    }
    const study = { id, ...requested, created_at: store.instant() };
    const { seq } = appendEntry(database, {
      type: 'study.created',
      subject: id,
      digest: studyDigest(study),
      at: study.created_at,
    });
    insertStudy(database, { ...study, ledger_entry: seq });
    insertStatus(database, {
      ledger_entry: seq,
      study: id,
      status: study.status,
      note: '',
      at: study.created_at,
    });
    onRecorded(database);
  });
  return readStudy(store, id);
}

/** Changes the status of a study. @throws Problem `not_found`; `invalid_transition` with `allowed`. */
export async function setStudyStatus(
  store: Store,
  id: string,
  { status, note }: NewStudyStatus,
): Promise<Study> {
  await store.write((database) => {
    const study = requireStudy(database, id);
    const allowed = STUDY_TRANSITIONS[study.status];
    if (!allowed.includes(status)) {
      throw new Problem(
        'invalid_transition',
        `The status of this study is ${study.status}. It can only change to ${allowed.join(' or ')}.`,
        { members: { allowed } },
      );
    }
    const step = { study: id, status, note, at: store.instant() };
    const { seq } = appendEntry(database, {
      type: 'study.status',
      subject: id,
      digest: statusDigest(step),
      at: step.at,
    });
    insertStatus(database, { ...step, ledger_entry: seq });
  });
  return readStudy(store, id);
}

/** @throws Problem `not_found` */
export function requireStudy(database: ReadDatabase, id: string): StudyRow {
  const study = studyById(database, id);
  if (!study) throw new Problem('not_found', `There is no study ${id}.`);
  return study;
}

/** @throws Problem `not_found` */
export function readStudy({ read }: Pick<Store, 'read'>, id: string): Study {
  return onSnapshot(read, () => {
    const [study] = withHistory(read, [requireStudy(read, id)]);
    return study as Study;
  });
}

/** Returns a page of studies, newest first. */
export function listStudies(
  { read }: Pick<Store, 'read'>,
  { q, status, node, limit, offset }: StudiesQuery,
): Slice<Study> {
  return onSnapshot(read, () => {
    const match = q === undefined ? undefined : matchExpression(q);
    const { items, total } = selectStudies(read, { status, node, match, limit, offset });
    return { items: withHistory(read, items), total };
  });
}

/** Adds status histories and counts, with one query for all studies. */
function withHistory(database: ReadDatabase, rows: readonly StudyRow[]): Study[] {
  const ids = rows.map(({ id }) => id);
  const steps = Map.groupBy(statusesOf(database, ids), ({ study }) => study);
  const counts = Map.groupBy(packCountsOf(database, ids), ({ study }) => study);
  return rows.map(({ id, title, question, description, node, status, created_at, ledger_entry }) => {
    const counted = counts.get(id) ?? [];
    const sum = (wanted: (row: (typeof counted)[number]) => boolean) =>
      counted.filter(wanted).reduce((total, { packs }) => total + packs, 0);
    return {
      id,
      title,
      question,
      description,
      node,
      status,
      status_history: (steps.get(id) ?? []).map(({ status, at, note }) => ({ status, at, note })),
      created_at,
      ledger_entry,
      counts: {
        packs: sum(() => true),
        by_outcome: countsBy(OUTCOMES, (outcome) => sum((row) => row.outcome === outcome)),
        by_verdict: countsBy(VERDICTS, (verdict) => sum((row) => row.verdict === verdict)),
      },
    };
  });
}

function countsBy<Value extends string>(
  values: readonly Value[],
  count: (value: Value) => number,
): Record<Value, number> {
  return Object.fromEntries(values.map((value) => [value, count(value)])) as Record<Value, number>;
}

type Cell = ResultValue;
type ColumnType = StudyTable['columns'][number]['type'];

const FIXED_COLUMNS: StudyTable['columns'] = [
  { name: 'pack', type: 'string' },
  { name: 'title', type: 'string' },
  { name: 'outcome', type: 'string' },
  { name: 'tag', type: 'string' },
  { name: 'license', type: 'string' },
  { name: 'reproduced', type: 'number' },
  { name: 'partial', type: 'number' },
  { name: 'failed', type: 'number' },
  { name: 'ledger_entry', type: 'number' },
];

/**
 * Returns the results of a study: one row per pack, oldest first. After the fixed columns there is one column per result
 * name, in the order of first appearance in the records. Missing results are null.
 *
 * @throws Problem `not_found`
 */
export function readStudyTable({ read }: Pick<Store, 'read'>, id: string): StudyTable {
  const packs = onSnapshot(read, () => {
    requireStudy(read, id);
    return packsOfStudy(read, id);
  }).map((pack) => ({
    ...pack,
    // A Map, because a result may be named __proto__.
    results: new Map(Object.entries(JSON.parse(pack.results) as Record<string, ResultValue>)),
  }));
  const names = [...new Set(packs.flatMap(({ results }) => [...results.keys()]))];
  const rows = packs.map((pack): Cell[] => [
    pack.id,
    JSON.parse(pack.title) as string,
    JSON.parse(pack.outcome) as string,
    pack.tag,
    JSON.parse(pack.license) as string,
    pack.reproduced,
    pack.partial,
    pack.failed,
    pack.ledger_entry,
    ...names.map((name) => pack.results.get(name) ?? null),
  ]);
  const results = names.map((name, index) => ({
    name,
    type: typeOf(rows.map((row) => row[FIXED_COLUMNS.length + index] ?? null)),
  }));
  return { study: id, columns: [...FIXED_COLUMNS, ...results], rows };
}

/** Returns the common type of all non-null values of a column, or `mixed`. */
function typeOf(cells: readonly Cell[]): ColumnType {
  const types = new Set(cells.filter((cell) => cell !== null).map((cell) => typeof cell as ColumnType));
  const [only, ...others] = types;
  return only === undefined || others.length > 0 ? 'mixed' : only;
}

/** Returns the table as CSV with a header line. */
export function studyTableCsv({ columns, rows }: StudyTable): string {
  return csvLines([columns.map(({ name }) => name), ...rows]);
}

/** @throws Problem `parent_missing`, `node_exists` */
export async function createTreeNode(
  store: Store,
  { path, title, description }: NewNode,
): Promise<ArchiveNode> {
  const parent = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : null;
  return store.write((database) => {
    if (treeNodeAt(database, path)) throw new Problem('node_exists', `The subject ${path} already exists.`);
    if (parent !== null && !treeNodeAt(database, parent)) {
      throw new Problem('parent_missing', `The subject ${parent} above it does not exist. Create it first.`);
    }
    const recorded = { path, title, description, created_at: store.instant() };
    const { seq } = appendEntry(database, {
      type: 'node.created',
      subject: path,
      digest: nodeDigest(recorded),
      at: recorded.created_at,
    });
    const node = { ...recorded, ledger_entry: seq };
    insertTreeNode(database, { ...node, parent });
    return node;
  });
}

/** The page of a tree node, without its packs, which are streamed as JSON texts. */
type PageWithoutPacks = Omit<NodePage, 'packs'>;

/** @throws Problem `not_found` */
export function readTreeNode(
  { read }: ReadStore,
  path: string,
): { page: PageWithoutPacks; packs: Iterable<string> } {
  return onSnapshot(read, () => {
    const node = treeNodeAt(read, path);
    if (!node) throw new Problem('not_found', `There is no subject ${path}.`);
    const packs = packCounts(read, 'node');
    const withCounts = (each: ArchiveNode) => ({
      ...each,
      counts: { studies: countStudiesBelow(read, each.path), packs: packs.get(each.path) ?? 0 },
    });
    const page: PageWithoutPacks = {
      ...node,
      counts: { ...withCounts(node).counts, children: countChildren(read, path) },
      ancestors: treeNodesAt(read, pathPrefixes(path).slice(0, -1)).map(({ path, title }) => ({
        path,
        title,
      })),
      children: childrenOf(read, path, MAX_NODE_LISTING).map(withCounts),
      studies: listStudies({ read }, { node: path, limit: MAX_NODE_LISTING, offset: 0 }).items,
    };
    return { page, packs: packTexts(read, newestPacks(read, path)) };
  });
}

function newestPacks(database: ReadDatabase, node: string): number[] {
  const { entries } = selectPacks(database, {
    filters: [{ filter: 'node', value: node }],
    match: undefined,
    order: 'received',
    descending: true,
    limit: MAX_NODE_LISTING,
    offset: 0,
  });
  return entries;
}

/** Returns all nodes as a tree, siblings sorted by path, each with the counts of its whole subtree. */
export function readTree({ read }: Pick<Store, 'read'>): TreeNode[] {
  return onSnapshot(read, () => {
    const studies = studyCountsByNode(read);
    const packs = packCounts(read, 'node');
    const roots: TreeNode[] = [];
    const byPath = new Map<string, TreeNode>();
    for (const node of allTreeNodes(read)) {
      const counts = { studies: studies.get(node.path) ?? 0, packs: packs.get(node.path) ?? 0 };
      const treeNode: TreeNode = { ...node, counts, children: [] };
      byPath.set(node.path, treeNode);
      const parent = byPath.get(node.path.slice(0, Math.max(0, node.path.lastIndexOf('/'))));
      (parent?.children ?? roots).push(treeNode);
    }
    // From the leaves up. Pack counts already include the subtree.
    for (const node of [...byPath.values()].reverse()) {
      const parent = byPath.get(node.path.slice(0, Math.max(0, node.path.lastIndexOf('/'))));
      if (parent) parent.counts.studies += node.counts.studies;
    }
    return roots;
  });
}
