import { CsvError } from 'csv-parse';
import { parse } from 'csv-parse/sync';

/** A table as CSV gives it: the first line is its header, the others are rows of as many cells as they have. */
export interface Table {
  header: string[];
  rows: string[][];
}

/** The text is no table that can be compared; the message says why. */
export class UnreadableTableError extends Error {}

const DELIMITERS = [',', ';', '\t', '|'];
/** More rows than this are not held at once. */
const MAX_ROWS = 300_000;
const MAX_COLUMNS = 2_000;

/**
 * Reads CSV (RFC 4180) and its kin: the delimiter is what the first line has most of, quotes that close nowhere are
 * taken as they stand, and lines may have more or fewer cells than the header.
 *
 * @throws UnreadableTableError
 */
export function parseTable(text: string): Table {
  const lines = readLines(text);
  if (lines.length > MAX_ROWS) {
    throw new UnreadableTableError(`The table has more than ${MAX_ROWS.toLocaleString('en')} rows`);
  }
  const [header = [], ...rows] = lines;
  if (header.length > MAX_COLUMNS) {
    throw new UnreadableTableError(`The table has more than ${MAX_COLUMNS.toLocaleString('en')} columns`);
  }
  return { header, rows };
}

function readLines(text: string): string[][] {
  try {
    return parse(text, {
      bom: true,
      delimiter: delimiterOf(text),
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      to: MAX_ROWS + 2,
    });
  } catch (error) {
    if (error instanceof CsvError) throw new UnreadableTableError('This is not well-formed CSV');
    throw error;
  }
}

function delimiterOf(text: string): string {
  const end = text.indexOf('\n');
  const first = text.slice(0, end === -1 ? 10_000 : Math.min(end, 10_000)).replace(/"[^"]*"/g, '');
  const counts = DELIMITERS.map((delimiter) => first.split(delimiter).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ',';
}
