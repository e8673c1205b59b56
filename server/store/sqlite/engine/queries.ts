import type Database from 'better-sqlite3';
import type { Slice } from '../../../../shared/values/list.ts';
import { type ReadDatabase, statement, type WriteDatabase } from './open.ts';

/*
 * Queries whose SQL is put together for each call, such as a list with conditions. All others are declared: see below.
 * Each statement is prepared once for each connection. `values` are bound to the placeholders of the SQL: one value for
 * each `?`, or one object for all `$name`.
 */

/** Returns the first row. */
export function one<Row>(database: ReadDatabase, sql: string, ...values: unknown[]): Row | undefined {
  return rows<Row>(database, sql).get(...values);
}

/** Returns all rows. */
export function all<Row>(database: ReadDatabase, sql: string, ...values: unknown[]): Row[] {
  return rows<Row>(database, sql).all(...values);
}

/** Iterates over all rows. Nothing else may use the connection meanwhile. */
export function each<Row>(database: ReadDatabase, sql: string, ...values: unknown[]): IterableIterator<Row> {
  return rows<Row>(database, sql).iterate(...values);
}

/** Iterates over the first column of all rows, with a statement of its own: the same list may be read twice at a time. */
export function eachValue<Value>(
  database: ReadDatabase,
  sql: string,
  ...values: unknown[]
): IterableIterator<Value> {
  return database
    .prepare<unknown[], Value>(sql)
    .pluck()
    .iterate(...values);
}

/** Returns the first column of all rows. */
export function columnOf<Value>(database: ReadDatabase, sql: string, ...values: unknown[]): Value[] {
  return statement<Value>(database, sql)
    .pluck()
    .all(...values);
}

/** Returns the number of rows. @param from what follows `FROM`: a table and its conditions */
export function count(database: ReadDatabase, from: string, ...values: unknown[]): number {
  return one<{ rows: number }>(database, `SELECT count(*) AS rows FROM ${from}`, ...values)?.rows ?? 0;
}

/** Changes rows; returns how many. */
export function run(database: WriteDatabase, sql: string, ...values: unknown[]): number {
  return statement(database, sql).run(...values).changes;
}

/** Runs several queries on one snapshot of the archive. */
export function onSnapshot<Result>(database: ReadDatabase, read: () => Result): Result {
  return database.inTransaction ? read() : database.transaction(read).deferred();
}

/** A condition with the values of its placeholders; one that is not required is `false` or undefined. */
export type Condition = readonly [condition: string, ...values: unknown[]] | false | undefined;

/** Joins conditions that are all required to a `WHERE` clause, which is empty if there are none. */
export function where(...conditions: readonly Condition[]): { where: string; values: unknown[] } {
  const required = conditions.filter((condition) => condition !== undefined && condition !== false);
  return {
    where: required.length > 0 ? `WHERE ${required.map(([condition]) => condition).join(' AND ')}` : '',
    values: required.flatMap(([, ...values]) => values),
  };
}

/** A list of which one page is read. */
export interface Listing {
  /** The columns of a row, or expressions. */
  columns: string;
  /** What follows `FROM`: tables and conditions. */
  from: string;
  order: string;
  /** The values of the placeholders in `from`. */
  values?: readonly unknown[];
}

/** Returns one page of a list and the number of all its rows, both from one snapshot. */
export function page<Row>(database: ReadDatabase, listing: Listing, { limit, offset }: Place): Slice<Row> {
  const { from, values = [] } = listing;
  const placed = NAMED.test(from)
    ? [Object.assign({}, ...values, { limit, offset })]
    : [...values, limit, offset];
  return onSnapshot(database, () => ({
    items: all<Row>(database, pageSql(listing), ...placed),
    total: count(database, from, ...values),
  }));
}

/** The placeholders of the place are of the same kind as those of the list. */
function pageSql({ columns, from, order }: Listing): string {
  const place = NAMED.test(from) ? 'LIMIT $limit OFFSET $offset' : 'LIMIT ? OFFSET ?';
  return `SELECT ${columns} FROM ${from} ORDER BY ${order} ${place}`;
}

const NAMED = /\$\w/;

/** Which part of a list a page is. */
export interface Place {
  limit: number;
  offset: number;
}

/*
 * Queries that are declared: a function of a connection and of the values of the placeholders, whose types are
 * `Values`. A list is bound as JSON, for `json_each`.
 */

type Select<Values extends unknown[], Result> = (database: ReadDatabase, ...values: Values) => Result;
type SelectPage<Values extends unknown[], Item> = (
  database: ReadDatabase,
  place: Place,
  ...values: Values
) => Slice<Item>;
type Change<Values extends unknown[]> = (database: WriteDatabase, ...values: Values) => number;

const declared = new Set<string>();

/** Returns the SQL of every query that a loaded module declares, so that a test can prepare each. */
export function declaredQueries(): string[] {
  return [...declared];
}

function bound(values: readonly unknown[]): unknown[] {
  return values.map((value) => (Array.isArray(value) ? JSON.stringify(value) : value));
}

/** Declares a query for the first row, which `read` turns into the result. */
export function selectOne<Row, Values extends unknown[] = []>(sql: string): Select<Values, Row | undefined>;
export function selectOne<Row, Values extends unknown[], Result>(
  sql: string,
  read: (row: Row) => Result,
): Select<Values, Result | undefined>;
export function selectOne<Row, Values extends unknown[], Result>(
  sql: string,
  read?: (row: Row) => Result,
): Select<Values, Row | Result | undefined> {
  declared.add(sql);
  return (database, ...values) => {
    const row = one<Row>(database, sql, ...bound(values));
    return row !== undefined && read ? read(row) : row;
  };
}

/** Declares a query for all rows, each of which `read` turns into a result. */
export function selectAll<Row, Values extends unknown[] = []>(sql: string): Select<Values, Row[]>;
export function selectAll<Row, Values extends unknown[], Result>(
  sql: string,
  read: (row: Row) => Result,
): Select<Values, Result[]>;
export function selectAll<Row, Values extends unknown[], Result>(
  sql: string,
  read?: (row: Row) => Result,
): Select<Values, (Row | Result)[]> {
  declared.add(sql);
  return (database, ...values) => {
    const found = all<Row>(database, sql, ...bound(values));
    return read ? found.map((row) => read(row)) : found;
  };
}

/** Declares a query whose rows are read one by one. Nothing else may use the connection meanwhile. */
export function selectEach<Row, Values extends unknown[] = []>(
  sql: string,
): Select<Values, IterableIterator<Row>> {
  declared.add(sql);
  return (database, ...values) => each<Row>(database, sql, ...bound(values));
}

/** Declares a query for the first column of the first row. If that is missing or NULL, `otherwise` is the result. */
export function selectValue<Value, Values extends unknown[] = []>(
  sql: string,
): Select<Values, Value | undefined>;
export function selectValue<Value, Values extends unknown[] = []>(
  sql: string,
  otherwise: Value,
): Select<Values, Value>;
export function selectValue<Value, Values extends unknown[]>(
  sql: string,
  otherwise?: Value,
): Select<Values, Value | undefined> {
  declared.add(sql);
  return (database, ...values) =>
    (statement(database, sql)
      .pluck()
      .get(...bound(values)) as Value | null | undefined) ?? otherwise;
}

/** Declares a query for the first column of all rows. */
export function selectValues<Value, Values extends unknown[] = []>(sql: string): Select<Values, Value[]> {
  declared.add(sql);
  return (database, ...values) => columnOf<Value>(database, sql, ...bound(values));
}

/** Declares a query for all rows, each as an array of its columns, which is faster for very many. */
export function selectTuples<Row extends unknown[], Values extends unknown[] = []>(
  sql: string,
): Select<Values, Row[]> {
  declared.add(sql);
  return (database, ...values) =>
    statement<Row>(database, sql)
      .raw()
      .all(...bound(values));
}

/** Declares a query for the number of rows. @param from what follows `FROM` */
export function countRows<Values extends unknown[] = []>(from: string): Select<Values, number> {
  return selectValue<number, Values>(`SELECT count(*) FROM ${from}`, 0);
}

/** Declares a query for whether there is a row. */
export function hasRow<Values extends unknown[] = []>(sql: string): Select<Values, boolean> {
  declared.add(sql);
  return (database, ...values) => one(database, sql, ...bound(values)) !== undefined;
}

/** Declares a list of which pages are read, whose rows `read` turns into the items. See `page`. */
export function selectPage<Row, Values extends unknown[] = []>(
  listing: Omit<Listing, 'values'>,
): SelectPage<Values, Row>;
export function selectPage<Row, Values extends unknown[], Item>(
  listing: Omit<Listing, 'values'>,
  read: (row: Row) => Item,
): SelectPage<Values, Item>;
export function selectPage<Row, Values extends unknown[], Item>(
  listing: Omit<Listing, 'values'>,
  read?: (row: Row) => Item,
): SelectPage<Values, Row | Item> {
  declared.add(pageSql(listing));
  return (database, place, ...values) => {
    const { items, total } = page<Row>(database, { ...listing, values }, place);
    return { items: read ? items.map((row) => read(row)) : items, total };
  };
}

/** Declares a change of rows, which returns how many it changed. */
export function change<Values extends unknown[] = []>(sql: string): Change<Values> {
  declared.add(sql);
  return (database, ...values) => run(database, sql, ...bound(values));
}

/** Declares a change of rows of a temporary table, which a connection for reading may have. */
export function changeTemporary<Values extends unknown[] = []>(sql: string): Select<Values, number> {
  declared.add(sql);
  return (database, ...values) => statement(database, sql).run(...bound(values)).changes;
}

/**
 * Declares the insertion of a row, which returns its number (`rowid`).
 * @param columns their names, separated by commas; each is a member of `Row`
 */
export function inserts<Row extends object>(table: string, columns: string): Change<[row: Row]> {
  const sql = insertion(table, columns);
  declared.add(sql);
  return (database, row) => Number(statement(database, sql).run(row).lastInsertRowid);
}

/** Which columns are changed of which row; names are separated by commas, and each is a member of `Row`. */
interface Changed {
  key: string;
  columns: string;
}

/** Declares a change of columns of the row with a `key`. */
export function updates<Row extends object>(table: string, { key, columns }: Changed): Change<[row: Row]> {
  return change(`UPDATE ${table} SET ${columns.replaceAll(/\w+/g, '$& = $$$&')} WHERE ${key} = $${key}`);
}

/** Declares the insertion of a row, or of the other columns into the row with the same `key`. */
export function upserts<Row extends object>(table: string, { key, columns }: Changed): Change<[row: Row]> {
  const changes = columns.replaceAll(/\w+/g, '$& = excluded.$&');
  return change(`${insertion(table, `${key}, ${columns}`)} ON CONFLICT (${key}) DO UPDATE SET ${changes}`);
}

/** Returns a statement that returns whole rows, also where another query with the same SQL reads them in another form. */
function rows<Row>(database: ReadDatabase, sql: string): Database.Statement<unknown[], Row> {
  return statement<Row>(database, sql).raw(false).pluck(false);
}

function insertion(table: string, columns: string): string {
  return `INSERT INTO ${table} (${columns}) VALUES (${columns.replaceAll(/\w+/g, '$$$&')})`;
}
