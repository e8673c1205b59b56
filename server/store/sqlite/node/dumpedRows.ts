import type { ReadDatabase, WriteDatabase } from '../engine/open.ts';
import { columnOf, eachValue, run } from '../engine/queries.ts';

/** Where the lines of one kind in a dump come from. SQLite formats them as JSON, which is fastest. */
export interface DumpedRows {
  /** What follows `FROM`: a table, or several that are joined. */
  from: string;
  where?: string;
  /** What the lines are ordered by. */
  order: string;
  /** The column that selects the lines between two numbers, if it is not `order`. */
  between?: string;
  /** The members of a line after `kind`, in their order. */
  members: readonly string[];
  /** The members that are not columns of these names, as SQL. */
  expressions?: Readonly<Record<string, string>>;
  /** The columns that hold JSON. */
  json?: readonly string[];
  /** The whole line as SQL, where it is not an object of these members. */
  line?: string;
}

/** Iterates over the lines of one kind, without line ends. */
export function iterateLines(
  database: ReadDatabase,
  kind: string,
  rows: DumpedRows,
): IterableIterator<string> {
  const where = rows.where === undefined ? '' : `WHERE ${rows.where}`;
  const sql = `SELECT ${lineOf(kind, rows)} FROM ${rows.from} ${where} ORDER BY ${rows.order}`;
  return eachValue(database, sql);
}

/** Iterates over the lines between two numbers, both included: numbers of ledger entries, or of retrievals. */
export function iterateLinesBetween(
  database: ReadDatabase,
  kind: string,
  rows: DumpedRows,
  [first, last]: readonly [number, number],
): IterableIterator<string> {
  const { from, where = 'TRUE', order, between = order } = rows;
  const sql = `SELECT ${lineOf(kind, rows)} FROM ${from} WHERE ${where} AND ${between} BETWEEN ? AND ?
    ORDER BY ${between}`;
  return eachValue(database, sql, first, last);
}

/** Returns the numbers of the ledger entries that record rows, between two numbers, both included. */
export function entriesBetween(
  database: ReadDatabase,
  { from, where = 'TRUE', order, between = order }: DumpedRows,
  [first, last]: readonly [number, number],
): number[] {
  const sql = `SELECT ${between} AS entry FROM ${from} WHERE ${where} AND ${between} BETWEEN ? AND ? ORDER BY ${between}`;
  return columnOf(database, sql, first, last);
}

/** Returns the lines of one ledger entry. */
export function linesOfEntry(
  database: ReadDatabase,
  kind: string,
  rows: DumpedRows,
  entry: number,
): string[] {
  const { from, where = 'TRUE', order, between = order } = rows;
  const sql = `SELECT ${lineOf(kind, rows)} AS line FROM ${from} WHERE ${where} AND ${between} = ?`;
  return columnOf(database, sql, entry);
}

function lineOf(kind: string, { members, expressions = {}, json = [], line }: DumpedRows): string {
  if (line !== undefined) return line;
  const pairs = members.map((member) => {
    const value = expressions[member] ?? (json.includes(member) ? `json(${member})` : member);
    return `'${member}', ${value}`;
  });
  return `json_object('kind', '${kind}', ${pairs.join(', ')})`;
}

/** Inserts the row of a line unchanged. */
export function restoreRow(
  database: WriteDatabase,
  { from, members, json = [] }: DumpedRows,
  line: Readonly<Record<string, unknown>>,
): void {
  const values = members.map((column) => {
    const value = line[column] ?? null;
    return json.includes(column) && value !== null ? JSON.stringify(value) : value;
  });
  const placeholders = members.map(() => '?').join(', ');
  run(database, `INSERT INTO ${from} (${members.join(', ')}) VALUES (${placeholders})`, ...values);
}
