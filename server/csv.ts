import { stringify } from 'csv-stringify/sync';

export type CsvCell = string | number | boolean | null;

/**
 * Formats rows as CSV (RFC 4180) with CRLF. Text that a spreadsheet would run as a formula gets a leading `'`; numbers do
 * not.
 */
export function csvLines(rows: readonly (readonly CsvCell[])[]): string {
  // Cells with any kind of line break are quoted, not only those with the record delimiter.
  return stringify(
    rows.map((row) => row.map(csvCell)),
    { record_delimiter: '\r\n', quoted_match: /[\r\n]/ },
  );
}

function csvCell(cell: CsvCell): string {
  if (typeof cell !== 'string') return cell === null ? '' : String(cell);
  return /^[=+\-@\t\r\n＝＋－＠]/.test(cell) ? `'${cell}` : cell;
}
