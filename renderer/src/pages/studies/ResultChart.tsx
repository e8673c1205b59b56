import { Select } from '@mantine/core';
import { lazy, Suspense, useState } from 'react';
import type { StudyTable } from '../../../../shared/archive/study.ts';
import { clearButtonProps } from '../../components/forms/buttons.tsx';
import { intervalColumns, intervalOf, intervalText } from './intervals.ts';
import type { ChartedPack } from './StudyChart.tsx';

/** Loaded on demand: the chart library is larger than the rest of the page. */
const StudyChart = lazy(() => import('./StudyChart.tsx'));

export interface ResultChartProps {
  table: StudyTable;
  /** The index of the column with the packs' ids. */
  pack: number;
  title: number;
  /** The index of the first result. */
  firstResult: number;
}

/** A chart of one numeric result, with its intervals, and the same numbers as a table for screen readers. */
export function ResultChart({ table, pack, title, firstResult }: ResultChartProps) {
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
