import '@mantine/charts/styles.layer.css';
import { BarChart } from '@mantine/charts';
import { Bar, ErrorBar } from 'recharts';
import type { Interval } from './intervals.ts';

export interface ChartedPack {
  id: string;
  /** The position among the study's packs, from 1. */
  place: number;
  title: string;
  value: number;
  interval: Interval | undefined;
}

const MAX_BAR_WIDTH = 36;

/** A bar chart of one numeric result per pack, oldest first, with whiskers where a pack has an interval. */
export default function StudyChart({ name, packs }: { name: string; packs: readonly ChartedPack[] }) {
  const hasIntervals = packs.some(({ interval }) => interval !== undefined);
  const data = packs.map(({ place, title, value, interval }) => ({
    pack: `${place}. ${title}`,
    [name]: value,
    // The distances from the value, as the chart library takes them.
    whiskers: interval ? [value - interval.low, interval.high - value] : undefined,
  }));
  return (
    <BarChart
      h={260}
      data={data}
      dataKey="pack"
      // Mantine's own bars cannot have whiskers.
      series={hasIntervals ? [] : [{ name, color: 'var(--accent)' }]}
      tickLine="y"
      gridAxis="x"
      textColor="var(--muted)"
      gridColor="var(--line)"
      maxBarWidth={MAX_BAR_WIDTH}
      xAxisProps={{ tickFormatter: (pack: string) => pack.split('.', 1)[0] ?? '' }}
      yAxisProps={{ width: 56 }}
      barProps={{ isAnimationActive: false }}
      // The chart is hidden from screen readers and the keyboard; the table has its data.
      barChartProps={{ accessibilityLayer: false }}
      aria-hidden
    >
      {hasIntervals && (
        <Bar
          dataKey={name}
          name={name}
          fill="var(--accent)"
          // The whiskers must be seen against the bar that they start in.
          fillOpacity={0.45}
          maxBarSize={MAX_BAR_WIDTH}
          isAnimationActive={false}
        >
          <ErrorBar
            dataKey="whiskers"
            width={6}
            strokeWidth={1.6}
            stroke="var(--text)"
            isAnimationActive={false}
          />
        </Bar>
      )}
    </BarChart>
  );
}
