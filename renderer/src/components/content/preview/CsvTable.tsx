import { parse } from 'csv-parse/browser/esm/sync';
import { useMemo } from 'react';
import { formatCount } from '../../../format/size.ts';
import classes from './FilePreview.module.css';
import { MAX_TABLE_ROWS } from './previewKind.ts';

export interface CsvTableProps {
  text: string;
  /** Whether `text` is the whole file. If not, the last line may be cut off and is dropped. */
  isWhole: boolean;
  isTabbed: boolean;
}

/** The first rows of a CSV file as a table, or as plain text if it cannot be parsed. */
export function CsvTable({ text, isWhole, isTabbed }: CsvTableProps) {
  const rows = useMemo(() => readRows(text, isWhole, isTabbed), [text, isWhole, isTabbed]);
  if (!rows || rows.length === 0) {
    return <pre className={classes.text}>{text}</pre>;
  }
  const [header = [], ...body] = rows;
  const shown = body.slice(0, MAX_TABLE_ROWS);
  return (
    <>
      {/* The table scrolls, so it must be reachable by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <section className={classes.table} aria-label="Rows of the file" tabIndex={0}>
        <table>
          <thead>
            <tr>
              {header.map((name, column) => (
                <th key={column} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, line) => (
              <tr key={line}>
                {row.map((cell, column) => (
                  <td key={column} data-number={isNumber(cell) || undefined}>
                    {cell}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <p className="muted small">
        {isWhole && shown.length === body.length ? '' : 'First '}
        {formatCount(shown.length)} rows, {formatCount(header.length)} columns
      </p>
    </>
  );
}

function isNumber(cell: string): boolean {
  return cell.trim() !== '' && Number.isFinite(Number(cell));
}

function readRows(text: string, isWhole: boolean, isTabbed: boolean): string[][] | undefined {
  const complete = isWhole ? text : text.slice(0, text.lastIndexOf('\n') + 1);
  const firstLine = complete.split('\n', 1)[0] ?? '';
  const delimiter = isTabbed ? '\t' : firstLine.includes(';') && !firstLine.includes(',') ? ';' : ',';
  try {
    return parse(complete, {
      bom: true,
      delimiter,
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      to: MAX_TABLE_ROWS + 2,
    });
  } catch {
    return undefined;
  }
}
