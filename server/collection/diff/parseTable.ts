import { CsvError } from 'csv-parse';
import { parse } from 'csv-parse/sync';
import { delimiterOf } from '../derived/body/csvDelimiter.ts';

/** A parsed CSV table: the first line is the header. Rows may have any number of cells. */
export interface Table {
  header: string[];
  rows: string[][];
}

/** The text cannot be compared as a table; the message states why, without a full stop. */
export class UnreadableTableError extends Error {}

/** Limits on tables that are compared in memory. */
const MAX_ROWS = 300_000;
const MAX_COLUMNS = 2_000;

/**
 * Parses CSV (RFC 4180) and its variants: the delimiter is guessed, unclosed quotes are kept as text, and lines may have
 * more or fewer cells than the header.
 *
 * @throws UnreadableTableError
 */
export function parseTable(text: string, contentType: string | null): Table {
  const lines = readLines(text, delimiterOf(text, contentType));
  if (lines.length > MAX_ROWS) {
    throw new UnreadableTableError(`The table has more than ${MAX_ROWS.toLocaleString('en')} rows`);
  }
  const [header = [], ...rows] = lines;
  if (header.length > MAX_COLUMNS) {
    throw new UnreadableTableError(`The table has more than ${MAX_COLUMNS.toLocaleString('en')} columns`);
  }
  return { header, rows };
}

function readLines(text: string, delimiter: string): string[][] {
  try {
    return parse(text, {
      bom: true,
      delimiter,
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
