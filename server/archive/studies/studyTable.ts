import type { ResultValue } from '../../../shared/archive/pack.ts';
import type { StudyTable } from '../../../shared/archive/study.ts';
import { csvLines } from '../../csv.ts';
import { packsOfStudy } from '../../store/sqlite/archive/studies.ts';
import type { Store } from '../../store/store.ts';
import { requireStudy } from './studies.ts';

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
  const packs = read
    .transaction(() => {
      requireStudy(read, id);
      return packsOfStudy(read, id);
    })
    .deferred()
    .map((pack) => ({
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
