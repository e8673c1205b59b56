import classes from './Meter.module.css';

export interface MeterProps {
  label: string;
  value: number;
  max: number;
  /** Whether the value exceeds the limit. */
  isOver?: boolean;
}

/** A thin bar that shows how much of a limit is used. The numbers are shown next to it. */
export function Meter({ label, value, max, isOver = false }: MeterProps) {
  return (
    <meter
      className={classes.meter}
      aria-label={label}
      min={0}
      max={Math.max(max, 1)}
      value={value}
      data-over={isOver || undefined}
    />
  );
}
