import type { ResultValue } from '../../shared/archive/pack.ts';
import {
  type NewStudy,
  type NewStudyStatus,
  STUDY_TRANSITIONS,
  type StudiesQuery,
  type Study,
  type StudyTable,
} from '../../shared/archive/study.ts';
import { OUTCOMES, VERDICTS } from '../../shared/archive/vocabulary.ts';
import { Problem } from '../../shared/problems.ts';
import type { Slice } from '../../shared/values/list.ts';
import { csvLines } from '../csv.ts';
import { appendEntry } from '../ledger/appendEntry.ts';
import {
  insertStatus,
  insertStudy,
  packCountsOf,
  packsOfStudy,
  type StudyRow,
  selectStudies,
  statusesOf,
  studyById,
  treeNodeAt,
} from '../store/sqlite/archive/studies.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { onSnapshot } from '../store/sqlite/engine/queries.ts';
import { matchExpression } from '../store/sqlite/engine/search.ts';
import type { Store } from '../store/store.ts';
import { statusDigest, studyDigest } from './recordedSubjects.ts';

/** @param id the id of a study that is mirrored; a new one by default. @throws Problem `unknown_node` */
export async function createStudy(
  store: Store,
  requested: NewStudy,
  id = `st_${store.randomHex(20)}`,
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
