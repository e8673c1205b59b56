import { ActionIcon, Button } from '@mantine/core';
import { IconX } from '@tabler/icons-react';
import { useState } from 'react';
import { Link, useLocation } from 'react-router';
import type { Job, JobKind, JobUnit } from '../../../../shared/node/job.ts';
import { call } from '../../api/client.ts';
import { countOf, formatBytes, formatCount, formatDuration } from '../../format.ts';
import { type LocalJob, useJobs } from '../../state/jobs.ts';
import { StateBadge } from '../data/Values.tsx';
import { describeError, ErrorNote } from './ErrorNote.tsx';
import classes from './feedback.module.css';

const KIND_TITLES: Record<JobKind, string> = {
  collection: 'Checking sources',
  ledger_verification: 'Verifying the ledger',
  audit: 'Re-hashing stored objects',
  mirror: 'Mirroring a node',
  import: 'Importing',
  publish: 'Publishing a set',
  noise: 'Applying noise rules',
  copy_sync: 'Updating a copy',
  copy_check: 'Checking a copy',
  copy_drill: 'Testing a restore',
  offload: 'Freeing space on this disk',
  bring_back: 'Restoring offloaded objects',
  mark_lost: 'Marking a copy as lost',
  repair: 'Repairing objects from peers',
  deposit: 'Depositing a pack',
};

/** The page that shows the result, for jobs that have one. */
const KIND_PLACES: Partial<Record<JobKind, string>> = {
  audit: '/settings#stored-bytes',
  copy_sync: '/settings#copies',
  copy_check: '/settings#copies',
  copy_drill: '/settings#copies',
  offload: '/settings#copies',
  bring_back: '/settings#copies',
  mark_lost: '/settings#copies',
  mirror: '/sharing',
};

/** The page that shows the progress itself. */
const SHOWN_ON: Partial<Record<JobKind, string>> = { ledger_verification: '/ledger', publish: '/assemble' };

function pageOfJob({ kind, result }: Job): string | undefined {
  const { pack } = (result ?? {}) as { pack?: unknown };
  return kind === 'publish' && typeof pack === 'string' ? `/packs/${pack}` : KIND_PLACES[kind];
}

/** The jobs at the bottom of every page: those that run, and those that ended and were not dismissed. */
export function JobsTray() {
  const { node, local, dismissed, dismiss } = useJobs();
  const [cancelError, setCancelError] = useState<unknown>();
  const cancel = (id: string) => {
    setCancelError(undefined);
    call('cancelJob', { params: { id } }).catch(setCancelError);
  };
  const { pathname } = useLocation();
  const elsewhere = Object.values(node).filter(({ kind }) => SHOWN_ON[kind] !== pathname);
  const nodeJobs = elsewhere.map(
    (job): LocalJob => ({
      id: job.id,
      title: KIND_TITLES[job.kind],
      state: job.state,
      ...job.progress,
      error: job.error,
      cancel: () => cancel(job.id),
      href: pageOfJob(job),
    }),
  );
  // Of successful jobs with the same title only the last is shown. Failed jobs stay until dismissed.
  const last = new Map(nodeJobs.map((job) => [job.title, job.id]));
  const isShown = ({ id, state, title }: LocalJob) => state !== 'done' || last.get(title) === id;
  const shown = [...Object.values(local), ...nodeJobs.filter(isShown)].filter(
    (job) => !dismissed.includes(job.id),
  );
  if (shown.length === 0) return null;
  return (
    <section aria-label="Background jobs" className={classes.tray}>
      {cancelError !== undefined && <p role="alert">{describeError(cancelError).sentence}</p>}
      <ul className="plain stack gap-3">
        {shown.map((job) => (
          <li key={job.id}>
            {job.state === 'running' ? (
              <JobBar {...job} onCancel={job.cancel} />
            ) : (
              <EndedJob job={job} onDismiss={() => dismiss(job.id)} />
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function EndedJob({ job, onDismiss }: { job: LocalJob; onDismiss: () => void }) {
  return (
    <div className="cluster gap-3 small">
      <span className="strong">{job.title}</span>
      <StateBadge kind="job" value={job.state} />
      {job.state === 'failed' && job.error && <span className="muted">{job.error}</span>}
      {job.href && <Link to={job.href}>View</Link>}
      <ActionIcon size="sm" aria-label={`Dismiss: ${job.title}`} onClick={onDismiss}>
        <IconX size={15} />
      </ActionIcon>
    </div>
  );
}

/** The names of units of which there is one. */
const SINGULAR: Partial<Record<string, string>> = {
  entries: 'entry',
  sources: 'source',
  objects: 'object',
  records: 'record',
  events: 'event',
  files: 'file',
  'seconds elapsed': 'second elapsed',
};

interface JobBarProps {
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
    unit === 'bytes' ? formatBytes(value) : countOf(Math.round(value), SINGULAR[unit] ?? unit, unit);
  const parts = [total === null ? amount(done) : `${plainAmount(done, unit)} of ${amount(total)}`];
  if (rate > 0) parts.push(`${amount(rate)}/s`);
  if (rate > 0 && total !== null && total > done) parts.push(`${formatDuration((total - done) / rate)} left`);
  return (
    <div className="stack gap-1">
      <div className="cluster gap-3 small">
        <span className="strong">{title}</span>
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

export interface NodeJobBarProps {
  title: string;
  /** Undefined until the node has reported the job. */
  job: Job | undefined;
  /** Undefined until known; the job cannot be cancelled before. */
  jobId: string | undefined;
  /** The unit to show until the job reports its own. */
  unit: JobUnit;
}

/** The progress of a job that runs on the node, with a Cancel button. */
export function NodeJobBar({ title, job, jobId, unit }: NodeJobBarProps) {
  const [error, setError] = useState<unknown>();
  const cancel = () => {
    setError(undefined);
    if (jobId) call('cancelJob', { params: { id: jobId } }).catch(setError);
  };
  return (
    <>
      <JobBar
        title={title}
        {...(job?.progress ?? { done: 0, total: null, unit, rate: 0 })}
        onCancel={jobId ? cancel : undefined}
      />
      {error !== undefined && <ErrorNote error={error} />}
    </>
  );
}
