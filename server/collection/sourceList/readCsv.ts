import { CsvError, parse } from 'csv-parse/sync';
import { type ListedEntry, SourceListError } from './listedEntry.ts';

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

interface CsvRow {
  record: string[];
  /** `lines` is the line that the record ends on. */
  info: { lines: number };
}

/**
 * CSV (RFC 4180) whose header names the columns, in any order and case: `url`, and what else is said of a source.
 *
 * @throws SourceListError where a quote is never closed, or no column is `url`.
 */
export function readCsv(text: string): { entries: ListedEntry[]; ignoredColumns: string[] } {
  const [header, ...rows] = rowsOf(text);
  const names = (header?.record ?? []).map((name) => name.trim().toLowerCase());
  if (!names.includes('url')) {
    throw new SourceListError(
      `The CSV has no column url in its header. The columns are: ${Object.keys(COLUMNS).join(', ')}.`,
    );
  }
  const twice = names.find((name, index) => name !== '' && names.indexOf(name) !== index);
  if (twice !== undefined) throw new SourceListError(`The CSV has two columns ${JSON.stringify(twice)}.`);
  return {
    entries: rows.map(({ record, info }) => entryOf(names, record, info.lines)),
    ignoredColumns: names.filter((name) => !Object.hasOwn(COLUMNS, name)),
  };
}

function rowsOf(text: string): CsvRow[] {
  try {
    return parse(text, {
      info: true,
      relax_column_count: true,
      skip_empty_lines: true,
    }) as unknown as CsvRow[];
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
