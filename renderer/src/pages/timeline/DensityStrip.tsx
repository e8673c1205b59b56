import { RangeSlider } from '@mantine/core';
import { type PointerEvent, useRef, useState } from 'react';
import { useCall } from '../../api/useCall.ts';
import { countOf, dayOf } from '../../format.ts';
import { useDisplaySettings, type Zone } from '../../state/displaySettings.ts';
import { dayStart } from './EventFilterBar.tsx';
import classes from './Timeline.module.css';

/** The strip shows days, so new events may appear with a delay. */
const REFRESH_MS = 60_000;

interface DensityStripProps {
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
      <p className={`${classes.words} line stretch between gap-4 muted tiny numeric`}>
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

interface DensityBarsProps {
  frame: DensityFrame;
  counts: readonly number[];
  range: BarRange;
  /** Called while a selection is drawn. */
  onDraw: (range: BarRange) => void;
  onDrawn: (range: BarRange) => void;
}

/** A bar chart of events per span of days. Dragging over the bars selects a span. */
function DensityBars({ frame, counts, range: [from, to], onDraw, onDrawn }: DensityBarsProps) {
  const highest = Math.max(1, ...counts);
  const begun = useRef<number>(undefined);
  const barAt = ({ clientX, currentTarget }: PointerEvent) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    const bar = Math.floor(((clientX - left) / width) * frame.bars);
    return Math.min(Math.max(bar, 0), frame.bars - 1);
  };
  const drawnTo = (event: PointerEvent): BarRange | undefined => {
    if (begun.current === undefined) return undefined;
    const bar = barAt(event);
    return [Math.min(begun.current, bar), Math.max(begun.current, bar) + 1];
  };
  const each = frame.step === 1 ? 'one per day' : `one per ${frame.step} days`;
  return (
    <div
      // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- the page draws the chart, so there is no image file
      role="img"
      aria-label={`${countOf(frame.bars, 'bar')}, ${each}; at most ${countOf(highest, 'event')} per bar`}
      className={classes.bars}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        begun.current = barAt(event);
        onDraw([begun.current, begun.current + 1]);
      }}
      onPointerMove={(event) => {
        const drawn = drawnTo(event);
        if (drawn) onDraw(drawn);
      }}
      onPointerUp={(event) => {
        const drawn = drawnTo(event);
        begun.current = undefined;
        if (drawn) onDrawn(drawn);
      }}
      onPointerCancel={() => {
        begun.current = undefined;
      }}
    >
      {counts.map((count, bar) => (
        <span
          key={firstDayOf(frame, bar)}
          className={`${classes.dayBar} line end fill`}
          data-chosen={(bar >= from && bar < to) || undefined}
          title={titleOf(frame, bar, count)}
        >
          <span style={{ height: count === 0 ? 0 : `max(2px, ${(count / highest) * 100}%)` }} />
        </span>
      ))}
    </div>
  );
}

function titleOf(frame: DensityFrame, bar: number, count: number): string {
  const first = firstDayOf(frame, bar);
  const last = lastDayBefore(frame, bar + 1);
  return `${first === last ? first : `${first} to ${last}`}: ${countOf(count, 'event')}`;
}

/** With more bars, each would be too thin to point at. */
const MOST_BARS = 90;
const DAY_MS = 86_400_000;

/** Whole days in the person's time zone, grouped into bars of `step` days. */
interface DensityFrame {
  /** The first day, in the format of the filters: `2026-11-20`. */
  firstDay: string;
  step: number;
  bars: number;
  /** The bar boundaries as timestamps. Around a clock change a boundary may be an hour off. */
  since: string;
  until: string;
}

/** The frame of all events; undefined if they all happened on one day. */
export function frameOf(first: string, last: string, zone: Zone): DensityFrame | undefined {
  const firstDay = dayOf(first, zone);
  const days = numberOf(dayOf(last, zone)) - numberOf(firstDay) + 1;
  if (days < 2) return undefined;
  const step = Math.ceil(days / MOST_BARS);
  const bars = Math.ceil(days / step);
  const since = dayStart(firstDay, 0, zone);
  const end = dayStart(firstDay, bars * step, zone);
  if (since === undefined || end === undefined) return undefined;
  return { firstDay, step, bars, since, until: new Date(Date.parse(end) - 1).toISOString() };
}

/** From the start of one bar to the start of another, exclusive. */
type BarRange = [from: number, to: number];

/** The bars that overlap the selected dates; all bars if no dates are selected. */
export function barsOf(
  { firstDay, step, bars }: DensityFrame,
  since: string | undefined,
  until: string | undefined,
): BarRange {
  const at = (day: string) => (numberOf(day) - numberOf(firstDay)) / step;
  const from = isDay(since) ? Math.floor(at(since)) : 0;
  const to = isDay(until) ? Math.ceil(at(until) + 1 / step) : bars;
  const start = Math.min(Math.max(from, 0), bars - 1);
  return [start, Math.max(Math.min(to, bars), start + 1)];
}

/** The dates of a bar range in the format of the filters. Empty where the range is open. */
export function daysOf(frame: DensityFrame, [from, to]: BarRange): { since: string; until: string } {
  return {
    since: from <= 0 ? '' : firstDayOf(frame, from),
    until: to >= frame.bars ? '' : lastDayBefore(frame, to),
  };
}

/** The first day of a bar. */
export function firstDayOf({ firstDay, step }: DensityFrame, bar: number): string {
  return dayNamed(numberOf(firstDay) + bar * step);
}

/** The last day before a bar. */
export function lastDayBefore({ firstDay, step }: DensityFrame, bar: number): string {
  return dayNamed(numberOf(firstDay) + bar * step - 1);
}

function isDay(text: string | undefined): text is string {
  return text !== undefined && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
}

/** A date as a day number, so that days can be counted despite clock changes. */
function numberOf(day: string): number {
  return Math.round(Date.parse(day) / DAY_MS);
}

function dayNamed(number: number): string {
  return new Date(number * DAY_MS).toISOString().slice(0, 10);
}
