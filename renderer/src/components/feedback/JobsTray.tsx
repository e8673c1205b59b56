import { ActionIcon } from '@mantine/core';
import { IconX } from '@tabler/icons-react';
import { useState } from 'react';
import { Link, useLocation } from 'react-router';
import type { JobKind } from '../../../../shared/node/job.ts';
import { call } from '../../api/client.ts';
import { type LocalJob, useJobs } from '../../state/jobs.ts';
import { StateBadge } from '../data/StateBadge.tsx';
import { describeError } from './ErrorNote.tsx';
import { JobBar } from './JobBar.tsx';
import classes from './JobsTray.module.css';

const KIND_TITLES: Record<JobKind, string> = {
  collection: 'Checking sources',
  ledger_verification: 'Verifying the ledger',
  audit: 'Re-hashing stored objects',
  mirror: 'Mirroring a node',
  import: 'Importing',
  noise: 'Applying noise rules',
  texts: 'Indexing older texts',
  copy_sync: 'Updating a copy',
  copy_check: 'Checking a copy',
  offload: 'Freeing space on this disk',
  bring_back: 'Bringing objects back',
  give_up: 'Giving up a lost copy',
  repair: 'Putting back objects from peers',
};

/** The page that shows the result, for jobs that have one. */
const KIND_PLACES: Partial<Record<JobKind, string>> = {
  audit: '/settings#stored-bytes',
  copy_sync: '/settings#copies',
  copy_check: '/settings#copies',
  offload: '/settings#copies',
  bring_back: '/settings#copies',
  give_up: '/settings#copies',
  mirror: '/sharing',
};

/** The page that shows the progress itself. */
const SHOWN_ON: Partial<Record<JobKind, string>> = { ledger_verification: '/ledger' };

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
      href: KIND_PLACES[job.kind],
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
      <ul>
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
    <div className={classes.ended}>
      <span className={classes.title}>{job.title}</span>
      <StateBadge kind="job" value={job.state} />
      {job.state === 'failed' && job.error && <span className="muted">{job.error}</span>}
      {job.href && <Link to={job.href}>View</Link>}
      <ActionIcon
        variant="subtle"
        color="gray"
        size="sm"
        aria-label={`Dismiss: ${job.title}`}
        onClick={onDismiss}
      >
        <IconX size={15} />
      </ActionIcon>
    </div>
  );
}
