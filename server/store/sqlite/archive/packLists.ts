import type { ReadDatabase, WriteDatabase } from '../engine/open.ts';
import { all, change, count, countRows, hasRow, inserts, selectAll, selectOne } from '../engine/queries.ts';

/** The filters of a list of packs. Each matches an exact value. */
export type PackFilterName =
  | 'node'
  | 'study'
  | 'outcome'
  | 'license'
  | 'tag'
  | 'verdict'
  | 'author'
  | 'keyword'
  | 'flagged'
  | 'replicates';

export interface PackFilter {
  filter: PackFilterName;
  value: string;
}

/** Indexes a pack under a filter value. Does nothing if it is indexed already. */
export function addPackFilter(database: WriteDatabase, pack: number, { filter, value }: PackFilter): void {
  const row = { pack, filter, value };
  // Most values exist already, so a new one is inserted only if nothing was found.
  if (addToValue(database, row) > 0) return;
  insertValue(database, row);
  addToValue(database, row);
}

const addToValue = change<[row: PackFilter & { pack: number }]>(`
  INSERT INTO pack_filters (value, pack)
  SELECT id, $pack FROM pack_filter_values WHERE filter = $filter AND value = $value ON CONFLICT DO NOTHING`);

const insertValue = change<[row: PackFilter]>(
  'INSERT INTO pack_filter_values (filter, value) VALUES ($filter, $value) ON CONFLICT DO NOTHING',
);

export const removePackFilter = change<[values: PackFilter & { pack: number }]>(
  `DELETE FROM pack_filters WHERE pack = $pack AND value = (SELECT id FROM pack_filter_values WHERE filter = $filter AND value = $value)`,
);

/** Returns the number of packs for each value of a filter. */
export function packCounts(database: ReadDatabase, filter: PackFilterName): Map<string, number> {
  return new Map(countsOf(database, filter).map(({ value, packs }) => [value, packs]));
}

const countsOf = selectAll<{ value: string; packs: number }, [filter: PackFilterName]>(
  'SELECT value, packs FROM pack_filter_values WHERE filter = ? AND packs > 0',
);

interface SearchedPackText {
  title: string;
  summary: string;
  authors: string;
  keywords: string;
  method: string;
  results: string;
  identity: string;
}

/** Adds a pack's text to the search index. */
export function indexPackText(database: WriteDatabase, pack: number, text: SearchedPackText): void {
  insertText(database, { rowid: pack, ...text });
}

const insertText = inserts<SearchedPackText & { rowid: number }>(
  'packs_search',
  'rowid, title, summary, authors, keywords, method, results, identity',
);

export type PackOrder = 'received' | 'title' | 'replications';

export interface PackSelection {
  filters: readonly PackFilter[];
  /** An expression of `matchExpression`. */
  match: string | undefined;
  /** For a search with very many words: an expression of the most selective ones (`approximateExpression`). */
  rough?: string | undefined;
  /** Whether packs that are parts of sets are in it. */
  withParts?: boolean;
  order: PackOrder;
  descending: boolean;
  limit: number;
  offset: number;
}

/** A set of packs as SQL that selects their ledger entries in order, so that SQLite can intersect sets by merging. */
interface PackSet {
  sql: string;
  /** The same set as a condition on `p.ledger_entry`. */
  condition: string;
  value: number | string;
}

const ORDER_COLUMNS: Record<PackOrder, string> = {
  received: 'p.ledger_entry',
  title: 'p.title_key',
  replications: 'p.replications',
};

const ORDER_INDEXES: Record<PackOrder, string> = {
  received: '',
  title: 'INDEXED BY packs_by_title',
  replications: 'INDEXED BY packs_by_replications',
};

/** If more packs than this match the most selective words, the remaining words are ignored. */
const MANY = 20_000;

/** Returns the ledger entries of a page of packs, in order, and the total number of matches. */
export function selectPacks(
  database: ReadDatabase,
  selection: PackSelection,
): { entries: number[]; total: number } {
  const { rough } = selection;
  const roughly = rough === undefined ? undefined : setsOf(database, { ...selection, match: rough });
  const found = roughly && roughly.total > MANY ? roughly : setsOf(database, selection);
  if (found === undefined) return { entries: [], total: 0 };
  const { total } = found;
  const { withParts = false } = selection;
  // If every pack matches, the filters can be dropped.
  const sets = total > MANY && total === countIn(database, [], withParts) ? [] : found.sets;
  if (total <= selection.offset) return { entries: [], total };
  const sql =
    selection.order === 'received' && sets.length > 0
      ? pageByEntry(sets, selection)
      : pageByOrder(sets, selection, total);
  const entries = all<{ entry: number }>(
    database,
    sql,
    ...sets.map(({ value }) => value),
    selection.limit,
    selection.offset,
  );
  return { entries: entries.map(({ entry }) => entry), total };
}

/** Returns the sets to intersect, smallest first, and the size of the intersection; undefined if a set is empty. */
function setsOf(
  database: ReadDatabase,
  { filters, match, withParts = false }: PackSelection,
): { sets: PackSet[]; total: number } | undefined {
  const values: { id: number; packs: number }[] = [];
  for (const { filter, value } of filters) {
    const row = indexedValue(database, filter, value);
    if (row === undefined || row.packs === 0) return undefined;
    values.push(row);
  }
  values.sort((left, right) => left.packs - right.packs);
  const sets: PackSet[] = values.map(({ id }) => ({
    sql: 'SELECT pack AS entry FROM pack_filters WHERE value = ?',
    condition: 'EXISTS (SELECT 1 FROM pack_filters f WHERE f.value = ? AND f.pack = p.ledger_entry)',
    value: id,
  }));
  if (match !== undefined) {
    const sql = 'SELECT rowid AS entry FROM packs_search WHERE packs_search MATCH ?';
    sets.push({ sql, condition: `p.ledger_entry IN (${sql})`, value: match });
  }
  const [only] = values;
  const isCounted = sets.length === 1 && only !== undefined && (withParts || !hasParts(database));
  const total = isCounted ? only.packs : countIn(database, sets, withParts);
  return { sets, total };
}

const indexedValue = selectOne<{ id: number; packs: number }, [filter: PackFilterName, value: string]>(
  'SELECT id, packs FROM pack_filter_values WHERE filter = ? AND value = ?',
);

function countIn(database: ReadDatabase, sets: readonly PackSet[], withParts: boolean): number {
  if (sets.length > 0)
    return count(
      database,
      `(${intersection(sets, withParts)} ORDER BY 1)`,
      ...sets.map(({ value }) => value),
    );
  return countPacks(database) - (withParts ? 0 : countParts(database));
}

const countPacks = countRows('packs');
const countParts = countRows('packs WHERE part_of IS NOT NULL');
const hasParts = hasRow('SELECT 1 FROM packs WHERE part_of IS NOT NULL LIMIT 1');

/** With an ORDER BY at its end, SQLite intersects ordered sets by merging them, which stops at the limit. */
function intersection(sets: readonly PackSet[], withParts = false): string {
  const all = sets.map(({ sql }) => sql).join(' INTERSECT ');
  return withParts
    ? all
    : `${all} EXCEPT SELECT ledger_entry AS entry FROM packs INDEXED BY packs_that_are_parts WHERE part_of IS NOT NULL`;
}

function pageByEntry(sets: readonly PackSet[], { descending, withParts }: PackSelection): string {
  return `${intersection(sets, withParts)} ORDER BY 1 ${descending ? 'DESC' : 'ASC'} LIMIT ? OFFSET ?`;
}

/**
 * Selects a page in another order than that of the ledger. Few matches are sorted. For many matches, the index of the
 * order is scanned until the page is full. So the first page takes about the square root of the number of packs.
 */
function pageByOrder(sets: readonly PackSet[], selection: PackSelection, total: number): string {
  const { order, descending, withParts } = selection;
  const direction = descending ? 'DESC' : 'ASC';
  const orderBy = `ORDER BY ${ORDER_COLUMNS[order]} ${direction}${order === 'received' ? '' : `, p.ledger_entry ${direction}`} LIMIT ? OFFSET ?`;
  if (sets.length > 0 && total <= FEW) {
    return `SELECT p.ledger_entry AS entry FROM (${intersection(sets, withParts)} ORDER BY 1) s CROSS JOIN packs p ON p.ledger_entry = s.entry ${orderBy}`;
  }
  const conditions = [...(withParts ? [] : ['p.part_of IS NULL']), ...sets.map(({ condition }) => condition)];
  const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
  return `SELECT p.ledger_entry AS entry FROM packs p ${ORDER_INDEXES[order]} ${where} ${orderBy}`;
}

/** Up to this many matches, sorting is faster than scanning the index. */
const FEW = 5_000;
