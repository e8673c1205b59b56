import { Button, CloseButton } from '@mantine/core';
import { IconAlertTriangle, IconCircleCheck, IconInfoCircle, IconLink } from '@tabler/icons-react';
import { useQueries } from '@tanstack/react-query';
import { type ReactNode, useEffect } from 'react';
import { Link } from 'react-router';
import type {
  CAPTURE_REFUSALS,
  CaptureRefusal,
  CaptureResult,
} from '../../../../shared/collection/captures.ts';
import { failureWords } from '../../../../shared/collection/retrievalWords.ts';
import type { Job } from '../../../../shared/node/job.ts';
import { call } from '../../api/client.ts';
import { callKey, useCall, useReloadAfter, useSave } from '../../api/useCall.ts';
import { StateBadge } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { JobBar, NodeJobBar, type NodeJobBarProps } from '../../components/feedback/JobsTray.tsx';
import { countOf, formatCount } from '../../format.ts';
import { useFollowedJob } from '../../state/jobs.ts';
import { captureResultOf, useCaptureDraft, useCaptureRun } from './captures/ImportCaptures.tsx';
import {
  collectionResultOf,
  collectionSummary,
  noiseRunSummary,
  useCollectionRun,
  useNoiseRun,
} from './runs.ts';
import classes from './sources.module.css';
import type { VisibleSource } from './useSources.ts';

/** How many of the check's events are listed; the timeline has all of them. */
const NAMED_EVENTS = 6;

/** The check that was started here: its progress, then its result. */
export function CheckOutcome() {
  const { jobId, subject, error, isStarting, clear } = useCollectionRun();
  const job = useFollowedJob(jobId);
  useReloadAfter(job, 'collect');
  if (error !== undefined) return <ErrorNote error={error} />;
  if (!jobId && !isStarting) return null;
  if (!job || job.state === 'running') {
    return <RunningJob title={`Checking ${subject?.what}`} job={job} jobId={jobId} unit="sources" />;
  }
  if (job.state === 'failed') return <ErrorNote error={new Error(job.error ?? 'The check failed.')} />;
  const result = collectionResultOf(job);
  const isWell = result ? result.failed === 0 && !result.observer_offline : false;
  return (
    <Notice tone={isWell ? 'well' : 'warning'} close={{ label: 'Dismiss the result', onClick: clear }}>
      <p>
        <strong>
          {job.state === 'cancelled' ? 'The check was cancelled.' : result && collectionSummary(result)}
        </strong>
        {result && result.failed > 0 && ' The reason is shown next to each source.'}
      </p>
      {result && result.events.length > 0 && <NewEvents ids={result.events} />}
    </Notice>
  );
}

const TONES = { well: IconCircleCheck, warning: IconAlertTriangle, quiet: IconInfoCircle, links: IconLink };

interface NoticeProps {
  tone: keyof typeof TONES;
  children: ReactNode;
  /** Dismisses the notice. */
  close?: { label: string; onClick: () => void };
  /** A button at the end. */
  action?: ReactNode;
}

/** What happened, or waits to be done, above the content of a page. */
function Notice({ tone, children, close, action }: NoticeProps) {
  const Icon = TONES[tone];
  return (
    <output className={`${classes.outcome} card mb-4 stack gap-3 start`} data-tone={tone}>
      <Icon size={18} aria-hidden className={classes.icon} />
      <div className="stack gap-1">{children}</div>
      {action}
      {close && <CloseButton aria-label={close.label} onClick={close.onClick} />}
    </output>
  );
}

/** The progress of a job where its result will be. */
function RunningJob(props: NodeJobBarProps) {
  return (
    <div className="card mb-4">
      <NodeJobBar {...props} />
    </div>
  );
}

function NewEvents({ ids }: { ids: readonly number[] }) {
  const events = useQueries({
    queries: ids.slice(0, NAMED_EVENTS).map((id) => ({
      queryKey: callKey('readEvent', { params: { id } }),
      queryFn: () => call('readEvent', { params: { id } }),
    })),
  });
  const more = ids.length - NAMED_EVENTS;
  return (
    <ul className="cluster gap-5 stretch compact plain">
      {events.map(({ data: event }) =>
        event ? (
          <li key={event.id} className="line gap-2 wrap-anywhere">
            <StateBadge kind="event" value={event.event_type} />
            <Link to={`/timeline/${event.id}`}>{event.source.name || event.source.url}</Link>
          </li>
        ) : null,
      )}
      {more > 0 && (
        <li>
          <Link to="/timeline">{countOf(more, 'more event')} on the timeline</Link>
        </li>
      )}
    </ul>
  );
}

/** After the rules of this source changed: offers to apply them to all past versions, then shows the progress. */
export function NoiseRunNote({ sourceId }: { sourceId: string }) {
  const run = useNoiseRun();
  const job = useFollowedJob(run.jobId);
  useReloadAfter(job, 'runNoiseRules');
  if (run.subject !== sourceId) return null;
  const start = () => void run.start(sourceId);
  const close = { label: 'Dismiss', onClick: run.clear };
  if (run.error !== undefined) return <ErrorNote error={run.error} onRetry={start} />;
  if (run.jobId && (!job || job.state === 'running')) {
    const title = 'Applying the noise rules to all past versions';
    return <RunningJob title={title} job={job} jobId={run.jobId} unit="events" />;
  }
  if (job?.state === 'failed') {
    return <ErrorNote error={new Error(job.error ?? 'The rules could not be applied.')} onRetry={start} />;
  }
  if (job) {
    const isCancelled = job.state === 'cancelled';
    return (
      <Notice tone={isCancelled ? 'warning' : 'well'} close={close}>
        <strong>
          {isCancelled ? 'The job was cancelled. Its results so far are kept.' : noiseRunSummary(job.result)}
        </strong>
      </Notice>
    );
  }
  return (
    <Notice tone="quiet" close={close}>
      <p>The noise rules are saved. They apply to new changes.</p>
      <p>
        <Button size="xs" variant="default" onClick={start} loading={run.isStarting}>
          Apply to all past versions
        </Button>
      </p>
    </Notice>
  );
}

/** For a source that is known by captures only: says so and offers the owner to watch it. */
export function ImportedSourceNotice({ source, mayWatch }: { source: VisibleSource; mayWatch: boolean }) {
  const { id, name, url } = source;
  const check = useCollectionRun((run) => run.start);
  const watch = useSave('changeSource', () => ({ params: { id }, body: { paused: false } }), {
    onSaved: () => void check({ what: name || url, ids: [id] }),
  });
  return (
    <Notice
      tone="quiet"
      action={
        mayWatch && (
          <Button size="xs" variant="default" onClick={() => watch.mutate()} loading={watch.isPending}>
            Watch
          </Button>
        )
      }
    >
      <p>
        <strong>All versions of this source were imported.</strong> They were captured by others. This node{' '}
        {mayWatch ? 'fetches it only if you watch it' : 'has never fetched it'}.
      </p>
      {watch.isError && <ErrorNote error={watch.error} />}
    </Notice>
  );
}

const REFRESH_MS = 15_000;

/** Says how many addresses that followed sources link to wait for the owner. */
export function FoundNotice({ onOpen }: { onOpen: () => void }) {
  const query = { state: 'waiting', limit: 1 };
  const { data } = useCall('listFound', { query }, { refetchInterval: REFRESH_MS });
  if (!data || data.total === 0) return null;
  return (
    <Notice
      tone="links"
      action={
        <Button size="xs" variant="default" onClick={onOpen}>
          Review
        </Button>
      }
    >
      <p>
        <strong>{countOf(data.total, 'address', 'addresses')} to review.</strong> An address is watched once
        you approve it.
      </p>
    </Notice>
  );
}

/** The import that was started here: upload, progress and result. `onOpen` reopens the form. */
export function CaptureOutcome({ onOpen }: { onOpen: () => void }) {
  const { current, clear } = useCaptureRun();
  const job = useFollowedJob(current.state === 'taken' ? current.jobId : undefined);
  useReloadAfter(job, 'importCaptures');
  const discard = useCaptureDraft((state) => state.discard);
  const isDone = job?.state === 'done';
  useEffect(() => {
    if (isDone && current.state === 'taken') discard(current.draft);
  }, [isDone, current, discard]);
  if (current.state === 'idle') return null;
  if (current.state === 'failed') {
    return (
      <div className="mb-4 stack items-start gap-2">
        <ErrorNote error={current.error} />
        <BackToForm onOpen={onOpen} />
      </div>
    );
  }
  if (current.state === 'sending') {
    return (
      <div className="card mb-4">
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
    return <RunningJob title={`Importing ${what}`} job={job} jobId={jobId} unit="records" />;
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
  return (
    <Notice
      tone={isWell ? 'well' : 'warning'}
      close={{ label: 'Dismiss the import result', onClick: onClear }}
    >
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
    </Notice>
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
          <ul className="stack gap-1 compact">
            {refused.map(({ reason, count: of }) => (
              <li key={reason}>
                <span className="numeric">{formatCount(of)}</span> {rejectionReason(reason)}{' '}
                <span className="mono tiny muted">{reason}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

const REFUSALS: Record<(typeof CAPTURE_REFUSALS)[number], string> = {
  not_http: 'The URL is not a web address (for example, a DNS record).',
  malformed_url: 'The URL is not valid.',
  credentials_in_url: 'The URL contains a user name or password, which would be published.',
  malformed_date: 'The record has no exact capture time.',
  malformed_http: 'The content is not a readable HTTP response.',
  unsupported_encoding: 'The body uses an unsupported transfer encoding.',
  not_get:
    'The response belongs to a form submission or another request that is not a GET, so it is not what the URL shows.',
  truncated: 'The body is truncated.',
  segmented: 'The record is split into several segments.',
  too_large: 'The body exceeds the maximum object size in the settings.',
  digest_mismatch: 'The bytes do not match the digest in the record.',
  unresolved_revisit:
    'The record refers to an earlier capture that is not archived here. Import that file first.',
  no_room: 'The archive limit or the disk is full.',
  damaged: 'The file is truncated or corrupt. The part after the fault could not be read.',
  file_too_large: 'The uncompressed file exceeds the limit.',
  no_memento: 'The archive returned an error instead of the capture.',
  beyond_limit: 'The import limit was reached. Import again with a later start date.',
  host_held: 'The archive asked to wait. Import again later.',
  cancelled: 'The import was cancelled before this capture was recorded.',
};

function isRefusal(reason: CaptureRefusal): reason is keyof typeof REFUSALS {
  return Object.hasOwn(REFUSALS, reason);
}

/** Why captures were rejected. */
function rejectionReason(reason: CaptureRefusal): string {
  return isRefusal(reason) ? REFUSALS[reason] : `${failureWords(reason, null)}.`;
}
