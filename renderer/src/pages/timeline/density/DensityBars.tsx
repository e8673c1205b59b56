import { type PointerEvent, useRef } from 'react';
import { countOf } from '../../../format/size.ts';
import classes from './DensityStrip.module.css';
import { type BarRange, type DensityFrame, firstDayOf, lastDayBefore } from './densityFrame.ts';

export interface DensityBarsProps {
  frame: DensityFrame;
  counts: readonly number[];
  range: BarRange;
  /** Called while a selection is drawn. */
  onDraw: (range: BarRange) => void;
  onDrawn: (range: BarRange) => void;
}

/** A bar chart of events per span of days. Dragging over the bars selects a span. */
export function DensityBars({ frame, counts, range: [from, to], onDraw, onDrawn }: DensityBarsProps) {
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
          className={classes.bar}
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
