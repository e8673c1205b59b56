import {
  type NewStudy,
  type NewStudyStatus,
  STUDY_TRANSITIONS,
  type StudiesQuery,
  type Study,
} from '../../../shared/archive/study.ts';
import { OUTCOMES, VERDICTS } from '../../../shared/archive/vocabulary.ts';
import { Problem } from '../../../shared/problems.ts';
import { appendEntry } from '../../ledger/appendEntry.ts';
import {
  insertStatus,
  insertStudy,
  packCountsOf,
  type StudyRow,
  selectStudies,
  statusesOf,
  studyById,
} from '../../store/sqlite/archive/studies.ts';
import { treeNodeAt } from '../../store/sqlite/archive/treeNodes.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { matchExpression } from '../../store/sqlite/engine/search.ts';
import type { Store } from '../../store/store.ts';
import { statusDigest, studyDigest } from '../recordedSubjects.ts';

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
  return read
    .transaction(() => {
      const [study] = withHistory(read, [requireStudy(read, id)]);
      return study as Study;
    })
    .deferred();
}

/** Returns a page of studies, newest first. */
export function listStudies(
  { read }: Pick<Store, 'read'>,
  { q, status, node, limit, offset }: StudiesQuery,
): { items: Study[]; total: number } {
  return read
    .transaction(() => {
      const match = q === undefined ? undefined : matchExpression(q);
      const { rows, total } = selectStudies(read, { status, node, match, limit, offset });
      return { items: withHistory(read, rows), total };
    })
    .deferred();
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
