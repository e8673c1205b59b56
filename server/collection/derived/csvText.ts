import { parse } from 'csv-parse/sync';
import type { Found } from './extractedText.ts';
import { MAX_TEXT_CHARACTERS } from './limits.ts';

const DELIMITERS = [',', ';', '\t', '|'] as const;
/** A record that is longer is no record but a quote that was never closed. */
const MOST_RECORD_CHARACTERS = 200_000;
/** Quotes and delimiters make a table a little longer than its text. */
const MOST_PARSED_CHARACTERS = 1.25 * MAX_TEXT_CHARACTERS;

/** A table row by row, its cells parted by tabs; what cannot be read as a table is shown as it is. */
export function csvText(csv: string, contentType: string | null): Found {
  const isCut = csv.length > MOST_PARSED_CHARACTERS;
  const whole = isCut ? csv.slice(0, MOST_PARSED_CHARACTERS) : csv;
  // The last line of a part may be cut in the middle of a cell.
  const parsed = isCut ? whole.slice(0, whole.lastIndexOf('\n') + 1) || whole : whole;
  const rows = rowsOf(parsed, delimiterOf(parsed, contentType));
  const text = rows?.map((cells) => cells.map(inOneLine).join('\t')).join('\n') ?? parsed;
  return { title: null, text, truncated: isCut };
}

function rowsOf(csv: string, delimiter: string): string[][] | undefined {
  try {
    return parse(csv, {
      delimiter,
      bom: true,
      relax_quotes: true,
      relax_column_count: true,
      skip_empty_lines: true,
      max_record_size: MOST_RECORD_CHARACTERS,
    });
  } catch (error) {
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('CSV_')) return undefined;
    throw error;
  }
}

/** The delimiter that occurs most often in the first line, outside quotes. */
export function delimiterOf(csv: string, contentType: string | null): string {
  if (/^text\/tab-separated-values\b/i.test(contentType ?? '')) return '\t';
  const first = csv
    .slice(0, 10_000)
    .split(/\r?\n/, 1)
    .join('')
    .replace(/"[^"]*"/g, '');
  const counted = DELIMITERS.map((delimiter) => ({ delimiter, count: first.split(delimiter).length - 1 }));
  return counted.reduce((most, other) => (other.count > most.count ? other : most)).delimiter;
}

function inOneLine(cell: string): string {
  return cell.replace(/\s+/g, ' ').trim();
}
