import { Button, CloseButton } from '@mantine/core';
import { IconAlertTriangle, IconCircleCheck } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { Link } from 'react-router';
import type { CaptureResult } from '../../../../../shared/collection/captures.ts';
import type { Job } from '../../../../../shared/node/job.ts';
import { callKey } from '../../../api/useCall.ts';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { JobBar } from '../../../components/feedback/JobBar.tsx';
import { NodeJobBar } from '../../../components/feedback/NodeJobBar.tsx';
import { countOf, formatCount } from '../../../format/size.ts';
import { useFollowedJob } from '../../../state/useFollowedJob.ts';
import outcome from '../CheckOutcome.module.css';
import classes from './CaptureOutcome.module.css';
import { useCaptureDraft } from './captureDraft.ts';
import { captureResultOf, useCaptureRun } from './captureRun.ts';
import { rejectionReason } from './rejectionReason.ts';

/** The import that was started here: upload, progress and result. `onOpen` reopens the form. */
export function CaptureOutcome({ onOpen }: { onOpen: () => void }) {
  const { current, clear } = useCaptureRun();
  const job = useFollowedJob(current.state === 'taken' ? current.jobId : undefined);
  useRefreshedLists(job?.state);
  const discard = useCaptureDraft((state) => state.discard);
  const isDone = job?.state === 'done';
  useEffect(() => {
    if (isDone && current.state === 'taken') discard(current.draft);
  }, [isDone, current, discard]);
  if (current.state === 'idle') return null;
  if (current.state === 'failed') {
    return (
      <div className={classes.failed}>
        <ErrorNote error={current.error} />
        <BackToForm onOpen={onOpen} />
      </div>
    );
  }
  if (current.state === 'sending') {
    return (
      <div className={outcome.running}>
        <JobBar
          title={`Sending ${current.what}`}
          unit="bytes"
          done={current.done}
          total={current.total}
          rate={current.rate}
          onCancel={current.cancel}
        />
      </div>
    );
  }
  const { what, observer, jobId } = current;
  if (!job || job.state === 'running') {
    return (
      <div className={outcome.running}>
        <NodeJobBar title={`Importing ${what}`} job={job} jobId={jobId} unit="records" />
      </div>
    );
  }
  return <Ended job={job} observer={observer} what={what} onOpen={onOpen} onClear={clear} />;
}

interface EndedProps {
  job: Job;
  observer: string;
  what: string;
  onOpen: () => void;
  onClear: () => void;
}

function Ended({ job, observer, what, onOpen, onClear }: EndedProps) {
  const result = captureResultOf(job.result);
  const isWell = job.state === 'done' && result?.refused.length === 0;
  const Icon = isWell ? IconCircleCheck : IconAlertTriangle;
  return (
    <output className={outcome.outcome} data-well={isWell || undefined}>
      <Icon size={18} aria-hidden className={outcome.icon} />
      <div className={outcome.words}>
        <p className="wrap-anywhere">
          <strong>{headline(job, result)}</strong> {what}
        </p>
        {job.state === 'failed' && <p>{job.error}</p>}
        {job.state !== 'done' && <BackToForm onOpen={onOpen} />}
        {result && <Findings result={result} />}
        {result && result.captures + result.already_held > 0 && (
          <p>
            <Link to={`/timeline?${new URLSearchParams({ observer })}`}>
              View captures by {observer} on the timeline
            </Link>
          </p>
        )}
      </div>
      <CloseButton aria-label="Dismiss the import result" onClick={onClear} />
    </output>
  );
}

function BackToForm({ onOpen }: { onOpen: () => void }) {
  return (
    <p>
      <Button variant="default" size="xs" onClick={onOpen}>
        Back to form
      </Button>
    </p>
  );
}

function headline({ state }: Job, result: CaptureResult | undefined): string {
  const taken = result ? `${countOf(result.captures, 'capture')} recorded.` : '';
  if (state === 'cancelled') return `The import was cancelled. ${taken}`;
  return state === 'failed' ? 'The captures could not be imported.' : taken;
}

function Findings({ result: { already_held, skipped, refused, events } }: { result: CaptureResult }) {
  const parts = [
    events.length > 0 && `${countOf(events.length, 'version')} new for this observer`,
    already_held > 0 && `${formatCount(already_held)} already archived`,
    skipped > 0 && `${countOf(skipped, 'other record')} skipped`,
  ].filter((part) => part !== false);
  const count = refused.reduce((sum, { count: of }) => sum + of, 0);
  return (
    <>
      {parts.length > 0 && <p className="small">{parts.join(' · ')}</p>}
      {refused.length > 0 && (
        <>
          <p className="small">{countOf(count, 'record')} rejected:</p>
          <ul className={classes.refused}>
            {refused.map(({ reason, count: of }) => (
              <li key={reason}>
                <span className="numeric">{formatCount(of)}</span> {rejectionReason(reason)}{' '}
                <span className={classes.code}>{reason}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

/** The lists that show imported captures. */
function useRefreshedLists(state: Job['state'] | undefined): void {
  const client = useQueryClient();
  useEffect(() => {
    if (!state || state === 'running') return;
    for (const name of ['listWatchedSources', 'listSources', 'listEvents', 'readStats'] as const) {
      void client.invalidateQueries({ queryKey: callKey(name) });
    }
  }, [state, client]);
}
