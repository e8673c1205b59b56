import { useState } from 'react';
import type { Job, JobUnit } from '../../../../shared/job.ts';
import { call } from '../../api/client.ts';
import { ErrorNote } from './ErrorNote.tsx';
import { JobBar } from './JobBar.tsx';

export interface NodeJobBarProps {
  title: string;
  /** Undefined while the node has not told of it yet. */
  job: Job | undefined;
  /** Undefined while it is not known: then it cannot be cancelled. */
  jobId: string | undefined;
  /** What is counted until the job says so. */
  unit: JobUnit;
}

/** The progress of a job of the node, and a way to cancel it. */
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
