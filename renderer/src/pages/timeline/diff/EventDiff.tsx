import { Switch } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { AnyDiff, Diff } from '../../../../../shared/collection/diff.ts';
import type { Event } from '../../../../../shared/collection/event.ts';
import { call, urlOf } from '../../../api/client.ts';
import { useCall } from '../../../api/useCall.ts';
import { TimeText } from '../../../components/data/TimeText.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { LazyTooltip } from '../../../components/feedback/LazyTooltip.tsx';
import { useIsOwner } from '../../../state/session.ts';
import { ByteDiff } from './ByteDiff.tsx';
import { diffSummary } from './diffSummary.ts';
import classes from './EventDiff.module.css';
import { ImageDiff } from './ImageDiff.tsx';
import { JsonChanges } from './JsonChanges.tsx';
import { NoiseNote } from './NoiseNote.tsx';
import { TableDiff } from './TableDiff.tsx';
import { TextHunks } from './TextHunks.tsx';

/**
 * The differences between the two versions of a change. A diff is computed on first request, which may take a
 * moment.
 */
export function EventDiff({ event }: { event: Event }) {
  const { data: diff, error, refetch } = useCall('readDiff', { params: { id: event.id } });
  const isOwner = useIsOwner();
  const [showsAll, setShowsAll] = useState(false);
  const hasLeftOut = diff !== undefined && diff.noise.ignored > 0;
  return (
    <section className={classes.diff} aria-labelledby={`diff-${event.id}`}>
      <h2 id={`diff-${event.id}`} className={classes.title}>
        Changes
      </h2>
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!diff && !error && <output className="muted">Comparing the two versions…</output>}
      {diff && diff.noise.rules.length > 0 && (
        <NoiseNote noise={diff.noise}>
          {hasLeftOut && isOwner && (
            <Switch
              size="xs"
              label="Show ignored parts"
              checked={showsAll}
              onChange={({ currentTarget }) => setShowsAll(currentTarget.checked)}
            />
          )}
        </NoiseNote>
      )}
      {diff && !showsAll && <DiffContent diff={diff} />}
      {showsAll && <WithoutRules event={event} />}
      {diff && <MadeBy diff={diff} />}
    </section>
  );
}

/** The same comparison without the source's noise rules; for the owner only. */
function WithoutRules({ event }: { event: Event }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['diffWithoutRules', event.id],
    queryFn: ({ signal }) =>
      call('previewNoiseRules', {
        params: { id: event.source.id },
        body: { rules: [], event: event.id },
        signal,
      }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!data) return <p className="muted">Comparing without the noise rules…</p>;
  if (data.diff) return <DiffContent diff={data.diff} />;
  return (
    <p className="muted">
      {data.events[0]?.problem ?? 'A comparison without the noise rules is not available.'}
    </p>
  );
}

/** The summary line, a note if the comparison is limited, and the differences. */
export function DiffContent({ diff }: { diff: AnyDiff }) {
  const isNoise = 'noise' in diff && diff.noise.is_noise === true;
  const summary = diffSummary(diff);
  return (
    <>
      <div className={classes.words}>
        {summary && <p className={classes.summary}>{summary}</p>}
        {/* The noise note already covers an empty diff. */}
        {diff.reason && !isNoise && <p className="muted">{diff.reason}</p>}
        {diff.truncated && (
          <p className="muted">
            The list of differences is truncated; the counts are complete. Download both versions to compare
            everything.
          </p>
        )}
        {!summary && !diff.reason && <p className="muted">No differences in the compared content.</p>}
      </div>
      <DiffBody diff={diff} />
    </>
  );
}

function DiffBody({ diff }: { diff: AnyDiff }) {
  switch (diff.kind) {
    case 'json':
      return <JsonChanges changes={diff.changes} />;
    case 'csv':
      return <TableDiff header={diff.header} rows={diff.rows} keyColumn={diff.key} />;
    case 'image':
      return <ImageDiff diff={diff} />;
    case 'bytes':
      return diff.around && <ByteDiff around={diff.around} />;
    default:
      return <TextHunks hunks={diff.hunks} />;
  }
}

/** A diff is derived, not evidence, so it names the tool and the time. */
function MadeBy({ diff: { event, tool, made_at } }: { diff: Diff }) {
  return (
    <p className={classes.foot}>
      Created by{' '}
      <LazyTooltip label={`Version ${tool.version}`} maxWidth={340}>
        {(trigger) => <span {...trigger}>{tool.name}</span>}
      </LazyTooltip>{' '}
      <TimeText at={made_at} />. This comparison is derived; the evidence is the two objects.{' '}
      <a href={urlOf('readDiff', { params: { id: event } })} target="_blank" rel="noopener noreferrer">
        View as JSON
      </a>
    </p>
  );
}
