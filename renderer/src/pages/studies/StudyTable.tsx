import { Button, Checkbox, Popover, Select } from '@mantine/core';
import { IconColumns3, IconDownload } from '@tabler/icons-react';
import { lazy, Suspense, useMemo, useState } from 'react';
import type { Study, StudyTable as Table } from '../../../../shared/archive/study.ts';
import type { Outcome, Tag } from '../../../../shared/archive/vocabulary.ts';
import { urlOf } from '../../api/client.ts';
import { useCall } from '../../api/useCall.ts';
import { type Column, DataTable, RowLink } from '../../components/data/DataTable.tsx';
import { StateBadge } from '../../components/data/StateBadge.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { clearButtonProps } from '../../components/forms/clearButtonProps.ts';
import { Section } from '../../components/layout/Section.tsx';
import { formatCount } from '../../format/size.ts';
import classes from './StudyTable.module.css';

/** Loaded on demand: the chart library is larger than the rest of the page. */
const StudyChart = lazy(() => import('./StudyChart.tsx'));

type Row = Table['rows'][number];
type Cell = Row[number];

/** The fixed columns of every study's table; the results follow. */
const FIXED = 9;
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
          <div className={classes.actions}>
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
          No pack belongs to this study yet. A pack’s study is chosen when it is created.
        </p>
      )}
      {table.data && table.data.rows.length > 0 && (
        <>
          <ResultChart table={table.data} />
          <Rows table={table.data} hidden={hidden} />
        </>
      )}
    </Section>
  );
}

/** A chart of one numeric result, loaded when a result is chosen. */
function ResultChart({ table }: { table: Table }) {
  const [chosen, setChosen] = useState<string | null>(null);
  const numeric = table.columns.flatMap((column, index) =>
    index >= FIXED && column.type === 'number' ? [{ value: String(index), label: column.name }] : [],
  );
  if (numeric.length === 0) return null;
  const index = Number(chosen);
  const packs = table.rows.flatMap((row, at) => {
    const value = row[index];
    return typeof value === 'number' ? [{ place: at + 1, title: String(row[TITLE]), value }] : [];
  });
  return (
    <div className={classes.chart}>
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
        <Suspense fallback={<p className="muted">Loading…</p>}>
          <StudyChart name={table.columns[index]?.name ?? ''} packs={packs} />
        </Suspense>
      )}
    </div>
  );
}

function Rows({ table, hidden }: { table: Table; hidden: ReadonlySet<number> }) {
  const [sort, setSort] = useState('');
  const rows = useMemo(() => sortedRows(table.rows, sort), [table.rows, sort]);
  const columns = table.columns.flatMap((column, index): Column<Row>[] =>
    hidden.has(index)
      ? []
      : [
          {
            id: String(index),
            header: column.name,
            sortKey: String(index),
            align: column.type === 'number' ? 'end' : 'start',
            cell: (row) => <TableCell row={row} index={index} />,
          },
        ],
  );
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
        <Button variant="default" leftSection={<IconColumns3 size={16} aria-hidden />}>
          Columns
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Visible columns">
        <div className={classes.columns}>
          {table.columns.map((column, index) => (
            <Checkbox
              // A result may have the name of a fixed column, so the index is part of the key.
              key={`${index} ${column.name}`}
              label={column.name}
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
