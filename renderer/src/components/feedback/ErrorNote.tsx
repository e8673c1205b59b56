import { Button } from '@mantine/core';
import { IconAlertTriangle, IconEyeOff, IconPlugConnectedX, IconTrashX } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect } from 'react';
import type { Settings } from '../../../../shared/node/settings.ts';
import { RELEASED_REASON_TEXT, type ReleasedReason } from '../../../../shared/node/withheld.ts';
import type { ProblemDocument } from '../../../../shared/problems.ts';
import { ApiProblem, call, isProblem, NodeUnreachable, useDiskAway } from '../../api/client.ts';
import { clockTime, countOf, exactTime, formatBytes, relativeTime } from '../../format.ts';
import { useDisplaySettings, type Zone } from '../../state/displaySettings.ts';
import type { Hidden } from '../../state/withheld.ts';
import classes from './feedback.module.css';

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

const ASK_EVERY_MS = 2_000;

/** Shown as long as the disk of the archive cannot be reached. Then everything on the page is requested again. */
export function DiskAwayNote() {
  const sentence = useDiskAway((state) => state.sentence);
  const queries = useQueryClient();
  useEffect(() => {
    // Its answer is noted; a node that does not answer is asked again.
    const timer = setInterval(() => void call('readSession').catch(() => {}), ASK_EVERY_MS);
    return () => {
      clearInterval(timer);
      void queries.invalidateQueries();
    };
  }, [queries]);
  return (
    <div role="alert" className={`${classes.note} card card-bad stack gap-3 start`}>
      <IconPlugConnectedX size={20} aria-hidden className={classes.icon} />
      <div>
        <p className="strong">The disk of the archive cannot be reached</p>
        <p>{sentence}</p>
      </div>
    </div>
  );
}

/** Returns what a refusal says of hidden bytes; undefined for other errors. */
export function hiddenByRefusal(error: unknown): Hidden | undefined {
  const kind = isProblem(error, 'withheld')
    ? 'withheld'
    : isProblem(error, 'released')
      ? 'released'
      : undefined;
  if (kind === undefined || !isProblem(error, kind)) return undefined;
  const { reason, since } = error.document;
  if (typeof reason !== 'string' || !Object.hasOwn(RELEASED_REASON_TEXT, reason) || typeof since !== 'string')
    return undefined;
  return { kind, reason: reason as ReleasedReason, since };
}

/** In the place of bytes: that they are not shown, why, since when, and what remains. It is no error. */
export function NotShown({ kind, reason, since, peer }: Hidden) {
  const Icon = kind === 'withheld' ? IconEyeOff : IconTrashX;
  const zone = useDisplaySettings((look) => look.zone);
  const at = (
    <time dateTime={since} className="nowrap">
      {exactTime(since, zone)}
    </time>
  );
  const why = RELEASED_REASON_TEXT[reason];
  return (
    <div className="card line gap-3 start" role="note">
      <Icon size={20} stroke={1.7} aria-hidden className="muted rigid" />
      {peer !== undefined ? (
        <p>
          The bytes are not here: {peer}{' '}
          {kind === 'withheld' ? 'does not show them since' : 'gave them up on'} {at} ({why}). The record and
          its proof remain.
        </p>
      ) : kind === 'withheld' ? (
        <p>
          The owner does not show this to visitors since {at} ({why}). The record and its proof remain.
        </p>
      ) : (
        <p>
          These bytes were given up on {at} ({why}). Nobody can read them any more. The record, the digest and
          their proof remain.
        </p>
      )}
    </div>
  );
}
