import { Button } from '@mantine/core';
import { useState } from 'react';
import type { TableParts, TableRow } from '../../../../../shared/collection/diff.ts';
import { formatCount } from '../../../format/size.ts';
import classes from './TableDiff.module.css';

const FIRST = 60;

export interface TableDiffProps {
  header: TableParts['header'];
  rows: readonly TableRow[];
  /** The column by which rows were matched; null if they were matched by position. */
  keyColumn: string | null;
}

/** The changed rows as a table: all cells of an added or removed row, and the changed cells of other rows. */
export function TableDiff({ header, rows, keyColumn }: TableDiffProps) {
  const [showsAll, setShowsAll] = useState(false);
  const shown = showsAll ? rows : rows.slice(0, FIRST);
  const columns = columnsOf(header, shown, keyColumn);
  if (shown.length === 0) return null;
  return (
    <>
      {/* The table scrolls, so it must be reachable by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <section className={classes.frame} aria-label="Changed rows" tabIndex={0}>
        <table className={classes.table}>
          <thead>
            <tr>
              <th scope="col">Row</th>
              {keyColumn !== null && <th scope="col">{keyColumn}</th>}
              {columns.map((column) => (
                <th key={column} scope="col">
                  <HeaderCell column={column} header={header} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <tr key={`${row.op} ${row.from_row} ${row.to_row}`} data-op={row.op}>
                <th scope="row" className={classes.row}>
                  {row.op} <span className="numeric">{row.to_row ?? row.from_row}</span>
                </th>
                {keyColumn !== null && <td>{row.key}</td>}
                {columns.map((column) => (
                  <td key={column}>
                    <Cell cell={row.cells.find((cell) => cell.column === column)} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <p className="muted small">
        {keyColumn === null
          ? 'Rows are compared by position because no column identifies them.'
          : `Rows are matched by the column “${keyColumn}”.`}{' '}
        Columns without differences are hidden.
      </p>
      {shown.length < rows.length && (
        <p>
          <Button variant="default" size="xs" onClick={() => setShowsAll(true)}>
            Show all {formatCount(rows.length)} rows
          </Button>
        </p>
      )}
    </>
  );
}

/** The columns of both versions, in the newer order, in which a shown row has a value. */
function columnsOf(
  { from, to }: TableDiffProps['header'],
  rows: readonly TableRow[],
  key: string | null,
): string[] {
  const shown = new Set(rows.flatMap(({ cells }) => cells.map(({ column }) => column)));
  const all = new Set([...to, ...from, ...shown]);
  return [...all].filter((column) => shown.has(column) && column !== key);
}

function HeaderCell({ column, header: { from, to } }: { column: string } & Pick<TableDiffProps, 'header'>) {
  if (!from.includes(column)) return <ins>{column}</ins>;
  if (!to.includes(column)) return <del>{column}</del>;
  return column;
}

function Cell({ cell }: { cell: TableRow['cells'][number] | undefined }) {
  if (!cell) return null;
  return (
    <>
      {cell.before !== null && cell.before !== '' && <del>{cell.before}</del>}
      {cell.after !== null && cell.after !== '' && <ins>{cell.after}</ins>}
    </>
  );
}
