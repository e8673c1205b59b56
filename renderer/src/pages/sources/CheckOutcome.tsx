import { CloseButton } from '@mantine/core';
import { IconAlertTriangle, IconCircleCheck } from '@tabler/icons-react';
import { useQueries, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { Link } from 'react-router';
import { call } from '../../api/client.ts';
import { callKey } from '../../api/useCall.ts';
import { StateBadge } from '../../components/data/StateBadge.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { NodeJobBar } from '../../components/feedback/NodeJobBar.tsx';
import { countOf } from '../../format/size.ts';
import { useFollowedJob } from '../../state/useFollowedJob.ts';
import classes from './CheckOutcome.module.css';
import { useCollectionRun } from './collectionRun.ts';
import { collectionResultOf, collectionSummary } from './collectionSummary.ts';

/** How many of the check's events are listed; the timeline has all of them. */
const NAMED_EVENTS = 6;

/** The check that was started here: its progress, then its result. */
export function CheckOutcome() {
  const { jobId, what, error, isStarting, clear } = useCollectionRun();
  const job = useFollowedJob(jobId);
  const client = useQueryClient();
  const state = job?.state;
  useEffect(() => {
    if (!state || state === 'running') return;
    for (const name of [
      'listWatchedSources',
      'listSources',
      'readWatchedSource',
      'listRetrievals',
      'listEvents',
      'listFound',
    ] as const) {
      void client.invalidateQueries({ queryKey: callKey(name) });
    }
  }, [state, client]);
  if (error !== undefined) return <ErrorNote error={error} />;
  if (!jobId && !isStarting) return null;
  if (!job || job.state === 'running') {
    return (
      <div className={classes.running}>
        <NodeJobBar title={`Checking ${what}`} job={job} jobId={jobId} unit="sources" />
      </div>
    );
  }
  if (job.state === 'failed') return <ErrorNote error={new Error(job.error ?? 'The check failed.')} />;
  const result = collectionResultOf(job);
  const isWell = result ? result.failed === 0 && !result.observer_offline : false;
  const Icon = isWell ? IconCircleCheck : IconAlertTriangle;
  return (
    <output className={classes.outcome} data-well={isWell || undefined}>
      <Icon size={18} aria-hidden className={classes.icon} />
      <div className={classes.words}>
        <p>
          <strong>
            {job.state === 'cancelled' ? 'The check was cancelled.' : result && collectionSummary(result)}
          </strong>
          {result && result.failed > 0 && ' The reason is shown next to each source.'}
        </p>
        {result && result.events.length > 0 && <NewEvents ids={result.events} />}
      </div>
      <CloseButton aria-label="Dismiss the result" onClick={clear} />
    </output>
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
    <ul className={classes.events}>
      {events.map(({ data: event }) =>
        event ? (
          <li key={event.id}>
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
