import { Button } from '@mantine/core';
import { formatBytes, formatCount, formatDuration } from '../../format/size.ts';
import classes from './JobBar.module.css';

export interface JobBarProps {
  title: string;
  done: number;
  total: number | null;
  /** `bytes` is shown as kB, MB and so on. Any other unit is shown as a count. */
  unit: string;
  /** Units per second. */
  rate: number;
  onCancel?: () => void;
}

/** The progress of a job: amount done, rate, time left, and a Cancel button. */
export function JobBar({ title, done, total, unit, rate, onCancel }: JobBarProps) {
  const amount = (value: number) =>
    unit === 'bytes' ? formatBytes(value) : `${formatCount(Math.round(value))} ${unit}`;
  const parts = [total === null ? amount(done) : `${plainAmount(done, unit)} of ${amount(total)}`];
  if (rate > 0) parts.push(`${amount(rate)}/s`);
  if (rate > 0 && total !== null && total > done) parts.push(`${formatDuration((total - done) / rate)} left`);
  return (
    <div className={classes.job}>
      <div className={classes.words}>
        <span className={classes.title}>{title}</span>
        <span className={`${classes.numbers} numeric`}>{parts.join(' · ')}</span>
        {onCancel && (
          <Button size="compact-xs" variant="default" onClick={onCancel} aria-label={`Cancel: ${title}`}>
            Cancel
          </Button>
        )}
      </div>
      <progress
        className={classes.bar}
        aria-label={title}
        value={total === null ? undefined : done}
        max={total === null ? undefined : Math.max(total, 1)}
      />
    </div>
  );
}

function plainAmount(value: number, unit: string): string {
  return unit === 'bytes' ? formatBytes(value) : formatCount(value);
}
