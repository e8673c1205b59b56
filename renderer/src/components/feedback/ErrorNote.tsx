import { Button } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import type { Settings } from '../../../../shared/node/settings.ts';
import type { ProblemDocument } from '../../../../shared/problems.ts';
import { ApiProblem, NodeUnreachable } from '../../api/client.ts';
import { countOf, formatBytes } from '../../format/size.ts';
import { clockTime, relativeTime } from '../../format/time.ts';
import { useDisplaySettings, type Zone } from '../../state/displaySettings.ts';
import classes from './feedback.module.css';
import { hiddenByRefusal, NotShown } from './NotShown.tsx';

interface ErrorNoteProps {
  error: unknown;
  onRetry?: () => void;
}

/**
 * An error message at the place of the error, with its code and a Try again button. That bytes are withheld or were given
 * up is no error, and is explained.
 */
export function ErrorNote({ error, onRetry }: ErrorNoteProps) {
  const hidden = hiddenByRefusal(error);
  if (hidden) return <NotShown {...hidden} />;
  const { sentence, code } = describeError(error);
  return (
    <div role="alert" className={`${classes.note} card card-bad stack gap-3 start`}>
      <IconAlertTriangle size={20} aria-hidden className={classes.icon} />
      <div>
        <p>{sentence}</p>
        {code && <p className="mono tiny muted">{code}</p>}
      </div>
      {onRetry && (
        <Button variant="default" size="xs" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** The message for the person and, if the node sent one, the error code. */
export function describeError(error: unknown): { sentence: string; code?: string } {
  if (error instanceof ApiProblem) {
    const { zone } = useDisplaySettings.getState();
    const limit = describeReachedLimit(error.document, zone, Date.now());
    return { sentence: limit ?? error.message, code: error.document.code };
  }
  if (error instanceof NodeUnreachable) return { sentence: error.message, code: 'node_unreachable' };
  if (error instanceof Error && error.message) return { sentence: error.message };
  return { sentence: 'This page failed. Reload it.' };
}

type WriteLimit = Extract<keyof Settings, `ip_${string}` | `site_${string}`>;

const LIMITS: Record<WriteLimit, (quota: number) => string> = {
  ip_writes_per_hour: (quota) => `Your limit of ${contributions(quota)} per hour is reached.`,
  ip_writes_per_day: (quota) => `Your limit of ${contributions(quota)} per day is reached.`,
  ip_mb_per_day: (quota) => `This would exceed your limit of ${formatBytes(quota)} per day.`,
  site_writes_per_hour: (quota) => `The total limit of ${contributions(quota)} per hour is reached.`,
  site_gb_per_day: (quota) => `This would exceed the total limit of ${formatBytes(quota)} per day.`,
};

function contributions(quota: number): string {
  return countOf(quota, 'contribution');
}

/** The message for a reached limit, with the time at which it is reset. Undefined for other problems. */
export function describeReachedLimit(document: ProblemDocument, zone: Zone, now: number): string | undefined {
  const { code, limit, quota, resets_at } = document;
  if (code !== 'rate_limited' || typeof limit !== 'string' || typeof resets_at !== 'string') return undefined;
  const describe = Object.hasOwn(LIMITS, limit) ? LIMITS[limit as WriteLimit] : undefined;
  if (!describe || typeof quota !== 'number') return undefined;
  return `${describe(quota)} Try again at ${clockTime(resets_at, zone, now)} (${relativeTime(resets_at, now)}).`;
}

interface EmptyStateProps {
  title: string;
  /** One sentence about what will appear here. */
  children: ReactNode;
  /** A button or link for the first step. */
  action?: ReactNode;
}

/** Shown in place of an empty list: what will appear here, and the first step. */
export function EmptyState({ title, children, action }: EmptyStateProps) {
  return (
    <div className="dropzone stack gap-2">
      <h2>{title}</h2>
      <p className="measure-short muted">{children}</p>
      {action && <div className="mt-3">{action}</div>}
    </div>
  );
}
