import { CsvError, parse } from 'csv-parse/sync';
import { MAX_LIST_ENTRIES } from '../../../../shared/collection/source.ts';
import { DELIMITERS, delimiterOf, statedDelimiter } from '../../derived/delimiter.ts';
import { countMarks, type ListedEntry, SourceListError } from './listedEntry.ts';

const MAX_COLUMNS = 200;
const MAX_ROW_CHARACTERS = 65_536;
/** The first lines may be a title or comments. */
const MAX_PREFACE_LINES = 20;

/** The parsers of the columns. An empty cell leaves its field out. */
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
  capture: (cell) => cell.toLowerCase(),
  keep_days: numberOf,
  ignore_robots: (cell) => (/^(true|false)$/i.test(cell) ? /^true$/i.test(cell) : cell),
};

/**
 * Reads a CSV list (RFC 4180) and its variants as spreadsheets save them: a comma, a semicolon, a tab or `|` is the delimiter,
 * `sep=`, a title or comments may be before the header. The header names the columns in any order and case: `url` and the other
 * `COLUMNS`.
 *
 * @throws SourceListError if the CSV is malformed, too large, or has no column `url`.
 */
export function readCsvList(text: string): { entries: ListedEntry[]; ignoredColumns: string[] } {
  // The parser limits the characters of a record, but not the number of its cells.
  if (countMarks(text, '\n', text.length).longest > MAX_ROW_CHARACTERS)
    throw new SourceListError(`The CSV has a line of more than ${MAX_ROW_CHARACTERS} characters.`);
  const { delimiter, start, linesBefore } = headerOf(text);
  let names: string[] | undefined;
  const entries: ListedEntry[] = [];
  // Row by row, so that the cells of ignored columns are not kept in memory.
  forEachRow(text.slice(start), delimiter, (cells, line) => {
    if (names) entries.push(entryOf(names, cells, linesBefore + line));
    else names = requireNames(cells);
  });
  return {
    entries,
    ignoredColumns: (names ?? requireNames([])).filter((name) => !Object.hasOwn(COLUMNS, name)),
  };
}

/** Finds the first line with a column `url`, and the delimiter with which it has one. */
function headerOf(text: string): { delimiter: string; start: number; linesBefore: number } {
  const stated = statedDelimiter(text);
  const delimiters = stated ? [stated.delimiter] : DELIMITERS;
  let start = stated?.line.length ?? 0;
  const first = start;
  const before = stated ? 1 : 0;
  for (let lines = before; lines < MAX_PREFACE_LINES && start < text.length; lines += 1) {
    const [line = '', end = ''] =
      /^[^\r\n]*(\r\n?|\n|$)/.exec(text.slice(start, start + MAX_ROW_CHARACTERS)) ?? [];
    const delimiter = delimiters.find((one) => hasUrl(line.split(one)));
    // A comma in a comment is no delimiter.
    if (delimiter !== undefined && !line.startsWith('#')) return { delimiter, start, linesBefore: lines };
    if (end === '') break;
    start += line.length;
  }
  // The header may have line breaks in its cells; if not, it is said what is missing.
  return { delimiter: delimiterOf(text, null), start: first, linesBefore: before };
}

function hasUrl(cells: readonly string[]): boolean {
  return cells.some((cell) => /^\s*"?\s*url\s*"?\s*$/i.test(cell));
}

function requireNames(header: readonly string[]): string[] {
  if (header.length > MAX_COLUMNS) throw new SourceListError(`The CSV has more than ${MAX_COLUMNS} columns.`);
  const names = header.map((name) => name.trim().toLowerCase());
  if (!names.includes('url')) {
    throw new SourceListError(
      `The CSV has no column url in its header. The columns are: ${Object.keys(COLUMNS).join(', ')}. They are separated by commas, semicolons, tabs or |.`,
    );
  }
  const twice = names.find((name, index) => name !== '' && names.indexOf(name) !== index);
  if (twice !== undefined) throw new SourceListError(`The CSV has two columns ${JSON.stringify(twice)}.`);
  return names;
}

/** @param onRow called with the cells of each row and the line it ends on. */
function forEachRow(text: string, delimiter: string, onRow: (cells: string[], line: number) => void): void {
  try {
    parse(text, {
      delimiter,
      relax_column_count: true,
      skip_empty_lines: true,
      max_record_size: MAX_ROW_CHARACTERS,
      // The header, and one entry more than allowed.
      to: MAX_LIST_ENTRIES + 2,
      on_record: (record: string[], { lines }) => {
        onRow(record, lines);
        return null;
      },
    });
  } catch (error) {
    if (error instanceof CsvError) throw new SourceListError(`The CSV cannot be read: ${error.message}.`);
    throw error;
  }
}

function entryOf(names: readonly string[], cells: readonly string[], line: number): ListedEntry {
  const fields: Record<string, unknown> = {};
  let url = '';
  for (const [index, name] of names.entries()) {
    const cell = (cells[index] ?? '').trim();
    const read = Object.hasOwn(COLUMNS, name) ? COLUMNS[name] : undefined;
    if (cell === '' || read === undefined) continue;
    if (name === 'url') url = cell;
    else fields[name] = read(cell);
  }
  // A URL with a delimiter in it would be watched without its end.
  if (cells.slice(names.length).some((cell) => cell.trim() !== ''))
    return {
      line,
      url,
      fields,
      unreadable: 'The line has more cells than the header. Put a cell with the delimiter in it in quotes.',
    };
  return { line, url, fields };
}

/** Returns the cell as a number, or unchanged if it is none. Validation then refuses it. */
function numberOf(cell: string): unknown {
  return /^\d+(\.\d+)?$/.test(cell) ? Number(cell) : cell;
}
