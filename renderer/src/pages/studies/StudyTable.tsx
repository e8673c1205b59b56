import { Button, Checkbox, Popover } from '@mantine/core';
import { IconColumns3, IconDownload } from '@tabler/icons-react';
import { useMemo, useState } from 'react';
import type { Study, StudyTable as Table } from '../../../../shared/archive/study.ts';
import type { Outcome, Tag } from '../../../../shared/archive/vocabulary.ts';
import { urlOf } from '../../api/client.ts';
import { useCall } from '../../api/useCall.ts';
import { type Column, DataTable, RowLink } from '../../components/data/DataTable.tsx';
import { StateBadge } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Section } from '../../components/layout/Page.tsx';
import { formatCount } from '../../format.ts';
import { ResultChart } from './ResultChart.tsx';
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
        <Button variant="default" leftSection={<IconColumns3 size={16} aria-hidden />}>
          Columns
        </Button>
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
