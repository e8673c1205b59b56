import { CsvError } from 'csv-parse';
import { parse } from 'csv-parse/sync';
import { diffArrays } from 'diff';
import type { TableParts, TableRow } from '../../../shared/collection/diff.ts';
import { delimiterOf, statedDelimiter } from '../derived/delimiter.ts';
import { truncateText } from '../derived/limits.ts';

/** Limits on the listed rows, cells and characters; all changes are counted. */
const MAX_ROWS = 1_000;
const MAX_CELLS = 10_000;
const MAX_CELL = 500;
const MAX_CHARACTERS = 300_000;
const MAX_NAME = 200;
/** After more additions and removals than this, rows are compared by position. */
const MAX_ROW_EDITS = 4_000;
const ROWS_TIMEOUT_MS = 2_000;
/** Share of the rows of the shorter table that a key column must match. */
const MIN_MATCHED = 0.5;

/**
 * Compares two tables. Rows are matched by the first column whose values are present and unique in both tables and that
 * matches enough rows; else by order. Columns are matched by name.
 */
export function compareTables(from: Table, to: Table): TableParts & { truncated: boolean } {
  const columns = matchColumns(from, to);
  const key = keyColumn(from, to, columns);
  const list = new RowList(from, to, columns, key?.name ?? null);
  if (key) matchByKey(list, from, to, key);
  else matchByOrder(list, from, to);
  return {
    summary: {
      ...list.counts,
      columns_added: to.header.filter((name) => !from.header.includes(name)).length,
      columns_removed: from.header.filter((name) => !to.header.includes(name)).length,
    },
    header: { from: from.header.map(shownName), to: to.header.map(shownName) },
    key: key ? shownName(key.name) : null,
    rows: list.rows,
    truncated: list.isTruncated,
  };
}

interface Column {
  name: string;
  /** Its index in each table, -1 if absent. */
  from: number;
  to: number;
}

/** Returns the columns of both tables, those of the newer one first. Columns of the same name are matched in order. */
function matchColumns(from: Table, to: Table): Column[] {
  const free = from.header.map((name, place) => ({ name, place }));
  const columns = to.header.map((name, place): Column => {
    const found = free.findIndex((column) => column.name === name);
    const [taken] = found === -1 ? [] : free.splice(found, 1);
    return { name, from: taken?.place ?? -1, to: place };
  });
  return [...columns, ...free.map(({ name, place }) => ({ name, from: place, to: -1 }))];
}

function keyColumn(from: Table, to: Table, columns: readonly Column[]): Column | undefined {
  if (from.rows.length === 0 || to.rows.length === 0) return undefined;
  return columns.find((column) => {
    if (column.from === -1 || column.to === -1) return false;
    const old = uniqueValues(from.rows, column.from);
    const now = old && uniqueValues(to.rows, column.to);
    if (!old || !now) return false;
    let matched = 0;
    for (const value of now) if (old.has(value)) matched += 1;
    return matched >= Math.min(old.size, now.size) * MIN_MATCHED;
  });
}

function uniqueValues(rows: readonly string[][], place: number): Set<string> | undefined {
  const values = new Set<string>();
  for (const row of rows) {
    const value = row[place];
    if (value === undefined || value === '' || values.has(value)) return undefined;
    values.add(value);
  }
  return values;
}

function matchByKey(list: RowList, from: Table, to: Table, key: Column): void {
  const old = new Map(from.rows.map((row, index) => [row[key.from] as string, index] as const));
  const now = new Set(to.rows.map((row) => row[key.to] as string));
  for (const [index, row] of from.rows.entries()) if (!now.has(row[key.from] as string)) list.removed(index);
  for (const [index, row] of to.rows.entries()) {
    const before = old.get(row[key.to] as string);
    if (before === undefined) list.added(index);
    else list.compared(before, index);
  }
}

function matchByOrder(list: RowList, from: Table, to: Table): void {
  const text = (row: readonly string[]) => row.join('\u001f');
  const runs = diffArrays(from.rows.map(text), to.rows.map(text), {
    maxEditLength: MAX_ROW_EDITS,
    timeout: ROWS_TIMEOUT_MS,
  });
  if (!runs) return matchPairs(list, [...from.rows.keys()], [...to.rows.keys()]);
  const at = { from: 0, to: 0 };
  let gone: number[] = [];
  let arrived: number[] = [];
  for (const { added, removed, count } of [...runs, { added: false, removed: false, count: 0 }]) {
    if (removed) for (let n = 0; n < count; n += 1) gone.push(at.from++);
    else if (added) for (let n = 0; n < count; n += 1) arrived.push(at.to++);
    else {
      matchPairs(list, gone, arrived);
      [gone, arrived] = [[], []];
      at.from += count;
      at.to += count;
    }
  }
}

/** Pairs removed and added rows by position. A pair counts as a changed row if half of its cells are equal. */
function matchPairs(list: RowList, gone: readonly number[], arrived: readonly number[]): void {
  const pairs = Math.min(gone.length, arrived.length);
  for (let n = 0; n < pairs; n += 1) {
    const [from, to] = [gone[n] as number, arrived[n] as number];
    if (list.areAlike(from, to)) list.compared(from, to);
    else {
      list.removed(from);
      list.added(to);
    }
  }
  for (const index of gone.slice(pairs)) list.removed(index);
  for (const index of arrived.slice(pairs)) list.added(index);
}

type Cells = TableRow['cells'];

/** Counts the rows that differ and lists them up to the limits. */
class RowList {
  readonly rows: TableRow[] = [];
  readonly counts = { rows_added: 0, rows_removed: 0, rows_changed: 0, cells_changed: 0 };
  isTruncated = false;
  readonly #from: Table;
  readonly #to: Table;
  readonly #columns: readonly Column[];
  readonly #key: string | null;
  #cells = 0;
  #characters = 0;

  constructor(from: Table, to: Table, columns: readonly Column[], key: string | null) {
    this.#from = from;
    this.#to = to;
    this.#columns = columns;
    this.#key = key;
  }

  added(index: number): void {
    this.counts.rows_added += 1;
    this.#addRow('added', null, index, this.#cellsOf(undefined, this.#to.rows[index]));
  }

  removed(index: number): void {
    this.counts.rows_removed += 1;
    this.#addRow('removed', index, null, this.#cellsOf(this.#from.rows[index], undefined));
  }

  compared(from: number, to: number): void {
    const cells = this.#cellsOf(this.#from.rows[from], this.#to.rows[to]).filter(
      ({ before, after }) => before !== after,
    );
    if (cells.length === 0) return;
    this.counts.rows_changed += 1;
    this.counts.cells_changed += cells.length;
    this.#addRow('changed', from, to, cells);
  }

  areAlike(from: number, to: number): boolean {
    const cells = this.#cellsOf(this.#from.rows[from], this.#to.rows[to]);
    return cells.filter(({ before, after }) => before === after).length * 2 >= cells.length;
  }

  #cellsOf(from: readonly string[] | undefined, to: readonly string[] | undefined): Cells {
    return this.#columns.flatMap(({ name, from: old, to: now }) => {
      const before = from?.[old] ?? null;
      const after = to?.[now] ?? null;
      return before === null && after === null ? [] : [{ column: name, before, after }];
    });
  }

  #addRow(op: TableRow['op'], from: number | null, to: number | null, cells: Cells): void {
    const isFull =
      this.rows.length >= MAX_ROWS || this.#cells >= MAX_CELLS || this.#characters >= MAX_CHARACTERS;
    if (isFull) {
      this.isTruncated = true;
      return;
    }
    const listed = cells.slice(0, MAX_CELLS - this.#cells);
    if (listed.length < cells.length) this.isTruncated = true;
    this.#cells += listed.length;
    const row: TableRow = {
      op,
      from_row: from === null ? null : from + 1,
      to_row: to === null ? null : to + 1,
      key: this.#keyOf(from, to),
      cells: listed.map(({ column, before, after }) => ({
        column: shownName(column),
        before: before === null ? null : shown(before),
        after: after === null ? null : shown(after),
      })),
    };
    this.#characters += JSON.stringify(row.cells).length;
    this.rows.push(row);
  }

  #keyOf(from: number | null, to: number | null): string | null {
    if (this.#key === null) return null;
    const column = this.#columns.find(({ name }) => name === this.#key);
    const row = to === null ? this.#from.rows[from ?? 0] : this.#to.rows[to];
    const value = row?.[(to === null ? column?.from : column?.to) ?? -1];
    return value === undefined ? null : shown(value);
  }
}

function shownName(name: string): string {
  return shown(name, MAX_NAME);
}

function shown(cell: string, maxLength = MAX_CELL): string {
  return cell.length <= maxLength ? cell : `${truncateText(cell, maxLength)}…`;
}

/**
 * A parsed CSV table. The header has a name for each cell of the widest row; rows may have fewer. Lines before the header, such
 * as a title or a comment, are its first rows, so that they are compared too.
 */
export interface Table {
  header: string[];
  rows: string[][];
}

/** The text cannot be compared as a table; the message states why, without a full stop. */
export class UnreadableTableError extends Error {}

/** Limits on tables that are compared in memory. */
const MAX_TABLE_ROWS = 300_000;
const MAX_COLUMNS = 2_000;
/** How many lines show how wide a table is, and how many may be before its header. */
const SEEN_LINES = 100;
const MAX_PREFACE = 20;

/**
 * Parses CSV (RFC 4180) and its variants: the delimiter is guessed, unclosed quotes are kept as text, lines may have more or
 * fewer cells than the header, a title, comments or `sep=` may be before the header, and the header may lack a name for the
 * names of the rows, as R writes it.
 *
 * @throws UnreadableTableError
 */
export function parseTable(text: string, contentType: string | null): Table {
  const stated = statedDelimiter(text);
  const lines = readLines(text.slice(stated?.line.length ?? 0), delimiterOf(text, contentType));
  if (lines.length > MAX_TABLE_ROWS) {
    throw new UnreadableTableError(`The table has more than ${MAX_TABLE_ROWS.toLocaleString('en')} rows`);
  }
  const width = usualWidth(lines.slice(0, SEEN_LINES));
  const header = headerLine(lines.slice(0, MAX_PREFACE), width);
  const rows = lines.filter((_, index) => index !== header);
  const named = [...(lines[header] ?? [])];
  if (lacksRowName(named, lines.slice(header + 1, SEEN_LINES), width)) named.unshift('');
  const widest = rows.reduce((most, row) => Math.max(most, filledWidth(row)), named.length);
  if (widest > MAX_COLUMNS) {
    throw new UnreadableTableError(`The table has more than ${MAX_COLUMNS.toLocaleString('en')} columns`);
  }
  for (let column = named.length; column < widest; column += 1) named.push(`Column ${column + 1}`);
  return { header: named, rows };
}

/** Returns how many cells most lines have; the most cells, if several numbers are as frequent. */
function usualWidth(lines: readonly string[][]): number {
  const counts = new Map<number, number>();
  for (const { length } of lines) counts.set(length, (counts.get(length) ?? 0) + 1);
  const [usual] = [...counts].sort((a, b) => b[1] - a[1] || b[0] - a[0]);
  return usual?.[0] ?? 0;
}

/** Returns the place of the first line that is no title and no comment; 0 if there is none. */
function headerLine(lines: readonly string[][], width: number): number {
  const isPreface = (line: readonly string[]) =>
    line.length < width && (line[0]?.trimStart().startsWith('#') || filledCells(line) < 2);
  return Math.max(
    lines.findIndex((line) => !isPreface(line)),
    0,
  );
}

function lacksRowName(header: readonly string[], rows: readonly string[][], width: number): boolean {
  const isFilled = rows.some((row) => row.at(-1) !== '');
  return (
    header.length > 1 &&
    header.length === width - 1 &&
    isFilled &&
    rows.every(({ length }) => length === width)
  );
}

function filledCells(line: readonly string[]): number {
  return line.filter((cell) => cell.trim() !== '').length;
}

/** Delimiters at the end of a line add no cells. */
function filledWidth(row: readonly string[]): number {
  return row.findLastIndex((cell) => cell !== '') + 1;
}

function readLines(text: string, delimiter: string): string[][] {
  try {
    return parse(text, {
      bom: true,
      delimiter,
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      to: MAX_TABLE_ROWS + 2,
    });
  } catch (error) {
    if (error instanceof CsvError) throw new UnreadableTableError('This is not well-formed CSV');
    throw error;
  }
}
