import { Button, Checkbox, Popover, Select } from '@mantine/core';
import { IconColumns3, IconDownload } from '@tabler/icons-react';
import { lazy, Suspense, useMemo, useState } from 'react';
import type { Study, StudyTable as Table } from '../../../../shared/archive/study.ts';
import type { Outcome, Tag } from '../../../../shared/archive/vocabulary.ts';
import { urlOf } from '../../api/client.ts';
import { useCall } from '../../api/useCall.ts';
import { type Column, DataTable, RowLink } from '../../components/data/DataTable.tsx';
import { StateBadge } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { clearButtonProps, IconButton } from '../../components/forms/buttons.tsx';
import { Section } from '../../components/layout/Page.tsx';
import { formatCount } from '../../format.ts';
import { intervalColumns, intervalOf, intervalText } from './intervals.ts';
import type { ChartedPack } from './StudyChart.tsx';
import classes from './StudyPage.module.css';

type Row = Table['rows'][number];
type Cell = Row[number];

/** The headings of the fixed columns of every study's table; the results follow, with the names that they have. */
const HEADINGS = [
  'Pack',
  'Title',
  'Outcome',
  'Tag',
  'Licence',
  'Reproduced',
  'Partial',
  'Failed',
  'Ledger entry',
];
const FIXED = HEADINGS.length;
const PACK = 0;
const TITLE = 1;

/** The results of a study's packs: sortable by column, with hideable columns and CSV export. */
export function StudyTable({ study }: { study: Study }) {
  const table = useCall('readStudyTable', { params: { id: study.id } });
  const [hidden, setHidden] = useState<ReadonlySet<number>>(new Set([PACK, 4, 8]));
  const csv = urlOf('readStudyTable', { params: { id: study.id }, query: { format: 'csv' } });
  return (
    <Section
      title="Results"
      actions={
        table.data &&
        table.data.rows.length > 0 && (
          <div className="line gap-2 stretch">
            <ColumnMenu table={table.data} hidden={hidden} onChange={setHidden} />
            <Button
              component="a"
              href={csv}
              download
              variant="default"
              leftSection={<IconDownload size={16} aria-hidden />}
            >
              CSV
            </Button>
          </div>
        )
      }
    >
      {table.error && <ErrorNote error={table.error} onRetry={() => void table.refetch()} />}
      {table.data?.rows.length === 0 && (
        <p className="muted">
          No pack belongs to this study yet. Create one with “New pack for this study”, or add published ones.
        </p>
      )}
      {table.data && table.data.rows.length > 0 && (
        <>
          <ResultChart table={table.data} pack={PACK} title={TITLE} firstResult={FIXED} />
          <Rows table={table.data} hidden={hidden} />
        </>
      )}
    </Section>
  );
}

function Rows({ table, hidden }: { table: Table; hidden: ReadonlySet<number> }) {
  const [sort, setSort] = useState('');
  const rows = useMemo(() => sortedRows(table.rows, sort), [table.rows, sort]);
  // The title stays in view while the others scroll, so it comes first.
  const order = table.columns.map((_, index) => index).filter((index) => index !== TITLE);
  const columns = [TITLE, ...order].flatMap((index): Column<Row>[] => {
    const column = table.columns[index];
    return !column || hidden.has(index)
      ? []
      : [
          {
            id: String(index),
            header: HEADINGS[index] ?? column.name,
            sortKey: String(index),
            align: column.type === 'number' ? 'end' : 'start',
            cell: (row) => <TableCell row={row} index={index} />,
          },
        ];
  });
  return (
    <div className={classes.table}>
      <DataTable
        caption="Results of the packs"
        columns={columns}
        rows={rows}
        rowKey={(row) => String(row[PACK])}
        sort={sort}
        onSort={setSort}
      />
    </div>
  );
}

function TableCell({ row, index }: { row: Row; index: number }) {
  const value = row[index] ?? null;
  if (index === TITLE) return <RowLink to={`/packs/${row[PACK]}`}>{value}</RowLink>;
  if (index === PACK) return <span className="mono small">{value}</span>;
  if (index === 2) return <StateBadge kind="outcome" value={value as Outcome} />;
  if (index === 3) return <StateBadge kind="tag" value={value as Tag} />;
  if (value === null) return <span className="muted">–</span>;
  return index < FIXED && typeof value === 'number' ? formatCount(value) : String(value);
}

/** Sorts numbers by value and text alphabetically, missing values last in both directions. */
function sortedRows(rows: readonly Row[], sort: string): readonly Row[] {
  if (sort === '') return rows;
  const index = Number(sort.replace(/^-/, ''));
  const direction = sort.startsWith('-') ? -1 : 1;
  const compare = (left: Cell, right: Cell): number => {
    if (left === null || right === null) return left === right ? 0 : left === null ? 1 : -1;
    if (typeof left === 'number' && typeof right === 'number') return direction * (left - right);
    return direction * String(left).localeCompare(String(right), 'en', { numeric: true });
  };
  return rows.toSorted((left, right) => compare(left[index] ?? null, right[index] ?? null));
}

interface ColumnMenuProps {
  table: Table;
  hidden: ReadonlySet<number>;
  onChange: (hidden: ReadonlySet<number>) => void;
}

function ColumnMenu({ table, hidden, onChange }: ColumnMenuProps) {
  const toggle = (index: number) => {
    const next = new Set(hidden);
    if (!next.delete(index)) next.add(index);
    onChange(next);
  };
  return (
    <Popover position="bottom-end" width={260} trapFocus shadow="md">
      <Popover.Target>
        <IconButton icon={IconColumns3}>Columns</IconButton>
      </Popover.Target>
      <Popover.Dropdown aria-label="Visible columns">
        <div className={`${classes.columns} stack gap-2 scroll`}>
          {table.columns.map((column, index) => (
            <Checkbox
              // A result may have the name of a fixed column, so the index is part of the key.
              key={`${index} ${column.name}`}
              label={HEADINGS[index] ?? column.name}
              checked={!hidden.has(index)}
              disabled={index === TITLE}
              onChange={() => toggle(index)}
            />
          ))}
        </div>
      </Popover.Dropdown>
    </Popover>
  );
}

/** Loaded on demand: the chart library is larger than the rest of the page. */
const StudyChart = lazy(() => import('./StudyChart.tsx'));

export interface ResultChartProps {
  table: Table;
  /** The index of the column with the packs' ids. */
  pack: number;
  title: number;
  /** The index of the first result. */
  firstResult: number;
}

/** A chart of one numeric result, with its intervals, and the same numbers as a table for screen readers. */
function ResultChart({ table, pack, title, firstResult }: ResultChartProps) {
  const [chosen, setChosen] = useState<string | null>(null);
  const { columns, rows } = table;
  const numeric = columns.flatMap((column, index) =>
    index >= firstResult && column.type === 'number' ? [{ value: String(index), label: column.name }] : [],
  );
  if (numeric.length === 0) return null;
  const index = Number(chosen);
  const interval = chosen === null ? undefined : intervalColumns(columns, index, firstResult);
  const packs = rows.flatMap((row, at): ChartedPack[] => {
    const value = row[index];
    return typeof value === 'number'
      ? [
          {
            id: String(row[pack]),
            place: at + 1,
            title: String(row[title]),
            value,
            interval: interval && intervalOf(row, index, interval),
          },
        ]
      : [];
  });
  const name = columns[index]?.name ?? '';
  return (
    <div className="mb-4 stack gap-4">
      <Select
        label="Chart"
        placeholder="Numeric result"
        data={numeric}
        value={chosen}
        onChange={setChosen}
        clearable
        clearButtonProps={clearButtonProps('No chart')}
        w={260}
      />
      {chosen !== null && (
        <>
          <Suspense fallback={<p className="muted">Loading…</p>}>
            <StudyChart name={name} packs={packs} />
          </Suspense>
          {interval && <p className="muted small">{intervalText(columns, interval)}</p>}
          <div className="visually-hidden">
            <ChartAsTable name={name} packs={packs} hasIntervals={interval !== undefined} />
          </div>
        </>
      )}
    </div>
  );
}

interface ChartAsTableProps {
  name: string;
  packs: readonly ChartedPack[];
  hasIntervals: boolean;
}

function ChartAsTable({ name, packs, hasIntervals }: ChartAsTableProps) {
  return (
    <table>
      <caption>Chart of {name}</caption>
      <thead>
        <tr>
          <th scope="col">Pack</th>
          <th scope="col">{name}</th>
          {hasIntervals && (
            <>
              <th scope="col">Interval from</th>
              <th scope="col">Interval to</th>
            </>
          )}
        </tr>
      </thead>
      <tbody>
        {packs.map(({ id, title, value, interval }) => (
          <tr key={id}>
            <th scope="row">{title}</th>
            <td>{value}</td>
            {hasIntervals && (
              <>
                <td>{boundText(interval?.low)}</td>
                <td>{boundText(interval?.high)}</td>
              </>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A computed bound has no more digits than anybody can use. */
function boundText(bound: number | undefined): string {
  return bound === undefined ? 'none' : String(Number(bound.toPrecision(10)));
}
