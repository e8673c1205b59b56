import '@mantine/charts/styles.layer.css';
import { BarChart } from '@mantine/charts';

export interface ChartedPack {
  /** The position among the study's packs, from 1. */
  place: number;
  title: string;
  value: number;
}

/** A bar chart of one numeric result per pack, oldest first. The table below contains the same numbers. */
export default function StudyChart({ name, packs }: { name: string; packs: readonly ChartedPack[] }) {
  const data = packs.map(({ place, title, value }) => ({ pack: `${place}. ${title}`, [name]: value }));
  return (
    <BarChart
      h={260}
      data={data}
      dataKey="pack"
      series={[{ name, color: 'var(--accent)' }]}
      tickLine="y"
      gridAxis="x"
      textColor="var(--muted)"
      gridColor="var(--line)"
      maxBarWidth={36}
      xAxisProps={{ tickFormatter: (pack: string) => pack.split('.', 1)[0] ?? '' }}
      yAxisProps={{ width: 56 }}
      barProps={{ isAnimationActive: false }}
      // The chart is hidden from screen readers and the keyboard; the table has its data.
      barChartProps={{ accessibilityLayer: false }}
      aria-hidden
    />
  );
}
