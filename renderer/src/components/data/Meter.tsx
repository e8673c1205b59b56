import classes from './Meter.module.css';

export interface MeterProps {
  label: string;
  value: number;
  max: number;
  /** Whether the value lies beyond the limit. */
  isOver?: boolean;
}

/** How much of a limit is used, as a thin bar; the numbers stand beside it. */
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
