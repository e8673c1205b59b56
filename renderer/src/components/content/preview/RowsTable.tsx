import { formatCount } from '../../../format/size.ts';
import classes from './FilePreview.module.css';
import { MAX_TABLE_ROWS } from './previewKind.ts';

export interface RowsTableProps {
  /** The first row is the header. */
  rows: readonly (readonly string[])[];
  /** Whether `rows` is the whole table. */
  isWhole: boolean;
}

/** The first rows of a table. */
export function RowsTable({ rows, isWhole }: RowsTableProps) {
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
