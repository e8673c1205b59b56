import '@mantine/charts/styles.layer.css';
import { BarChart } from '@mantine/charts';

export interface ChartedPack {
  /** Its place among the packs of the study, from 1. */
  place: number;
  title: string;
  value: number;
}

/** One numeric result of each pack as a bar, oldest first. The table beneath it tells the same in numbers. */
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
      // What the chart shows is read, and walked by the keyboard, in the table.
      barChartProps={{ accessibilityLayer: false }}
      aria-hidden
    />
  );
}
