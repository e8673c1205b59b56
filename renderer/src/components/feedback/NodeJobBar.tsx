import { useState } from 'react';
import type { Job, JobUnit } from '../../../../shared/node/job.ts';
import { call } from '../../api/client.ts';
import { ErrorNote } from './ErrorNote.tsx';
import { JobBar } from './JobBar.tsx';

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
