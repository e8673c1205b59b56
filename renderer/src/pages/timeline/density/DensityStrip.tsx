import { RangeSlider } from '@mantine/core';
import { useState } from 'react';
import { useCall } from '../../../api/useCall.ts';
import { countOf } from '../../../format/size.ts';
import { useDisplaySettings } from '../../../state/displaySettings.ts';
import { DensityBars } from './DensityBars.tsx';
import classes from './DensityStrip.module.css';
import {
  type BarRange,
  barsOf,
  type DensityFrame,
  daysOf,
  firstDayOf,
  frameOf,
  lastDayBefore,
} from './densityFrame.ts';

/** The strip shows days, so new events may appear with a delay. */
const REFRESH_MS = 60_000;

export interface DensityStripProps {
  /** The selected dates. */
  since: string | undefined;
  until: string | undefined;
  /** Whether the strip leaves out noise (`false`) or shows nothing else (`true`). */
  noise: string | undefined;
  /** Whether filters other than time and noise are set; the strip ignores them. */
  isFiltered: boolean;
  onSelect: (days: { since: string; until: string }) => void;
}

/**
 * The number of events over time. A span is selected by dragging, or with the two handles and the arrow keys.
 */
export function DensityStrip({ since, until, noise, isFiltered, onSelect }: DensityStripProps) {
  const zone = useDisplaySettings((look) => look.zone);
  const extent = useCall('readEventDensity', { query: { buckets: 1 } }, { refetchInterval: REFRESH_MS });
  const first = extent.data?.since;
  const last = extent.data?.until;
  const frame = first && last ? frameOf(first, last, zone) : undefined;
  const density = useCall(
    'readEventDensity',
    { query: { since: frame?.since, until: frame?.until, buckets: frame?.bars, noise } },
    { enabled: frame !== undefined, keepPrevious: true, refetchInterval: REFRESH_MS },
  );
  if (!frame || density.data?.counts.length !== frame.bars) return null;
  return (
    <Strip
      frame={frame}
      counts={density.data.counts}
      chosen={barsOf(frame, since, until)}
      isFiltered={isFiltered}
      onChoose={(range) => onSelect(daysOf(frame, range))}
    />
  );
}

interface StripProps {
  frame: DensityFrame;
  counts: readonly number[];
  chosen: BarRange;
  isFiltered: boolean;
  onChoose: (range: BarRange) => void;
}

function Strip({ frame, counts, chosen, isFiltered, onChoose }: StripProps) {
  const [range, setRange] = useState(chosen);
  const [seen, setSeen] = useState(chosen);
  // Follows changes of the date filters made elsewhere.
  if (chosen[0] !== seen[0] || chosen[1] !== seen[1]) {
    setSeen(chosen);
    setRange(chosen);
  }
  const [from, to] = range;
  const inRange = counts.slice(from, to).reduce((sum, count) => sum + count, 0);
  const isAll = from === 0 && to === frame.bars;
  const days = `${firstDayOf(frame, from)} to ${lastDayBefore(frame, to)}`;
  return (
    <section className={classes.strip} aria-label="Events over time">
      <DensityBars frame={frame} counts={counts} range={range} onDraw={setRange} onDrawn={onChoose} />
      <RangeSlider
        className={classes.slider}
        size={2}
        thumbSize={12}
        min={0}
        max={frame.bars}
        minRange={1}
        value={range}
        onChange={setRange}
        onChangeEnd={onChoose}
        label={null}
        thumbFromLabel="First day"
        thumbToLabel="Last day"
        thumbValueText={(bar) => (bar === to ? lastDayBefore(frame, bar) : firstDayOf(frame, bar))}
      />
      <p className={classes.words}>
        <span>{firstDayOf(frame, 0)}</span>
        <span aria-live="polite">
          {isAll ? '' : `${days}: `}
          {countOf(inRange, 'event')}
          {isFiltered && ', without the other filters'}
        </span>
        <span>{lastDayBefore(frame, frame.bars)}</span>
      </p>
    </section>
  );
}
