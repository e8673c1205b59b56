import { stringify } from 'csv-stringify/sync';

export type CsvCell = string | number | boolean | null;

/**
 * Rows as CSV (RFC 4180) with CRLF. A text that a spreadsheet would run as a formula gets a leading `'`; a number never
 * does.
 */
export function csvLines(rows: readonly (readonly CsvCell[])[]): string {
  // A line break of any kind is quoted, not only the one that ends records.
  return stringify(
    rows.map((row) => row.map(csvCell)),
    { record_delimiter: '\r\n', quoted_match: /[\r\n]/ },
  );
}

function csvCell(cell: CsvCell): string {
  if (typeof cell !== 'string') return cell === null ? '' : String(cell);
  return /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
}
