import { CsvError, parse } from 'csv-parse/sync';
import { MAX_LIST_ENTRIES } from '../../../../shared/sourceList.ts';
import { type ListedEntry, SourceListError } from './listedEntry.ts';
import { marksIn } from './marksIn.ts';

/** Far more than the columns that mean something, and what is said in them. */
const MOST_COLUMNS = 200;
const MAX_ROW_CHARACTERS = 65_536;

/** How the text of a cell is read, by its column; an empty cell says nothing. */
const COLUMNS: Readonly<Record<string, (cell: string) => unknown>> = {
  url: (cell) => cell,
  name: (cell) => cell,
  agency: (cell) => cell,
  tags: (cell) =>
    cell
      .split(/[;|]/)
      .map((tag) => tag.trim())
      .filter(Boolean),
  every_minutes: numberOf,
  max_object_mb: numberOf,
  ignore_robots: (cell) => (/^(true|false)$/i.test(cell) ? /^true$/i.test(cell) : cell),
};

/**
 * CSV (RFC 4180) whose header names the columns, in any order and case: `url`, and what else is said of a source.
 *
 * @throws SourceListError where a quote is never closed, or no column is `url`.
 */
export function readCsv(text: string): { entries: ListedEntry[]; ignoredColumns: string[] } {
  // A parser's own bound counts what is in cells, not how many there are.
  if (marksIn(text, '\n', text.length).widest > MAX_ROW_CHARACTERS)
    throw new SourceListError(`The CSV has a line of more than ${MAX_ROW_CHARACTERS} characters.`);
  let names: string[] | undefined;
  const entries: ListedEntry[] = [];
  // Row by row: of a column that means nothing here, no cell is held.
  eachRow(text, (cells, line) => {
    if (names) entries.push(entryOf(names, cells, line));
    else names = requireNames(cells);
  });
  return {
    entries,
    ignoredColumns: (names ?? requireNames([])).filter((name) => !Object.hasOwn(COLUMNS, name)),
  };
}

function requireNames(header: readonly string[]): string[] {
  if (header.length > MOST_COLUMNS)
    throw new SourceListError(`The CSV has more than ${MOST_COLUMNS} columns.`);
  const names = header.map((name) => name.trim().toLowerCase());
  if (!names.includes('url')) {
    throw new SourceListError(
      `The CSV has no column url in its header. The columns are: ${Object.keys(COLUMNS).join(', ')}.`,
    );
  }
  const twice = names.find((name, index) => name !== '' && names.indexOf(name) !== index);
  if (twice !== undefined) throw new SourceListError(`The CSV has two columns ${JSON.stringify(twice)}.`);
  return names;
}

/** @param take takes a row's cells and the line that it ends on. */
function eachRow(text: string, take: (cells: string[], line: number) => void): void {
  try {
    parse(text, {
      relax_column_count: true,
      skip_empty_lines: true,
      max_record_size: MAX_ROW_CHARACTERS,
      // The header, and one more than is taken.
      to: MAX_LIST_ENTRIES + 2,
      on_record: (record: string[], { lines }) => {
        take(record, lines);
        return null;
      },
    });
  } catch (error) {
    if (error instanceof CsvError) throw new SourceListError(`The CSV cannot be read: ${error.message}.`);
    throw error;
  }
}

function entryOf(names: readonly string[], cells: readonly string[], line: number): ListedEntry {
  const said: Record<string, unknown> = {};
  let url = '';
  for (const [index, name] of names.entries()) {
    const cell = (cells[index] ?? '').trim();
    const read = Object.hasOwn(COLUMNS, name) ? COLUMNS[name] : undefined;
    if (cell === '' || read === undefined) continue;
    if (name === 'url') url = cell;
    else said[name] = read(cell);
  }
  return { line, url, said };
}

/** A number where the cell is one; else the text, which the rules then refuse. */
function numberOf(cell: string): unknown {
  return /^\d+(\.\d+)?$/.test(cell) ? Number(cell) : cell;
}
