import { Button, CloseButton } from '@mantine/core';
import { IconCircleCheck, IconInfoCircle } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { callKey } from '../../../api/useCall.ts';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { NodeJobBar } from '../../../components/feedback/NodeJobBar.tsx';
import { useFollowedJob } from '../../../state/useFollowedJob.ts';
import outcome from '../CheckOutcome.module.css';
import { noiseRunSummary, useNoiseRun } from './noiseRun.ts';

/**
 * After the rules of this source changed: offers to apply them to all past versions, then shows the progress.
 */
export function NoiseRunNote({ sourceId }: { sourceId: string }) {
  const run = useNoiseRun();
  const job = useFollowedJob(run.jobId);
  const client = useQueryClient();
  const state = job?.state;
  useEffect(() => {
    if (state && state !== 'running') void client.invalidateQueries({ queryKey: callKey('listEvents') });
  }, [state, client]);
  if (run.sourceId !== sourceId) return null;
  const start = () => void run.start(sourceId);
  if (run.error !== undefined) return <ErrorNote error={run.error} onRetry={start} />;
  if (run.jobId && (!job || job.state === 'running')) {
    return (
      <div className={outcome.running}>
        <NodeJobBar
          title="Applying the noise rules to all past versions"
          job={job}
          jobId={run.jobId}
          unit="events"
        />
      </div>
    );
  }
  if (job?.state === 'failed') {
    return <ErrorNote error={new Error(job.error ?? 'The rules could not be applied.')} onRetry={start} />;
  }
  const Icon = job ? IconCircleCheck : IconInfoCircle;
  return (
    <output
      className={outcome.outcome}
      data-well={job?.state === 'done' || undefined}
      data-quiet={!job || undefined}
    >
      <Icon size={18} aria-hidden className={outcome.icon} />
      <div className={outcome.words}>
        {job ? (
          <p>
            <strong>
              {job.state === 'cancelled'
                ? 'The job was cancelled. Its results so far are kept.'
                : noiseRunSummary(job.result)}
            </strong>
          </p>
        ) : (
          <>
            <p>The noise rules are saved. They apply to new changes.</p>
            <p>
              <Button size="xs" variant="default" onClick={start} loading={run.isStarting}>
                Apply to all past versions
              </Button>
            </p>
          </>
        )}
      </div>
      <CloseButton aria-label="Dismiss" onClick={run.clear} />
    </output>
  );
}
