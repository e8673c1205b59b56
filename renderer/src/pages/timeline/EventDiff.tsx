import { Switch } from '@mantine/core';
import { IconFilterOff } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { AnyDiff, Diff } from '../../../../shared/collection/diff.ts';
import { diffSummary } from '../../../../shared/collection/diffSummary.ts';
import type { Event } from '../../../../shared/collection/event.ts';
import type { NoiseFindings, RuleOutcome, Selector } from '../../../../shared/collection/noise.ts';
import { call, urlOf } from '../../api/client.ts';
import { useCall } from '../../api/useCall.ts';
import { TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { LazyTooltip } from '../../components/feedback/LazyTooltip.tsx';
import { countOf } from '../../format.ts';
import { useIsOwner } from '../../state/session.ts';
import { ByteDiff, ImageDiff, JsonChanges, TableDiff, TextHunks } from './Differences.tsx';
import classes from './event.module.css';

/**
 * The differences between the two versions of a change. A diff is computed on first request, which may take a
 * moment.
 */
export function EventDiff({ event }: { event: Event }) {
  const { data: diff, error, refetch } = useCall('readDiff', { params: { id: event.id } });
  const isOwner = useIsOwner();
  const [showsAll, setShowsAll] = useState(false);
  const leftOut = diff && leftOutBy(diff.noise);
  return (
    <section className="stack gap-3" aria-labelledby={`diff-${event.id}`}>
      <h2 id={`diff-${event.id}`} className="large">
        Changes
      </h2>
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!diff && !error && <output className="muted">Comparing the two versions…</output>}
      {diff && (diff.noise.watch || diff.noise.rules.length > 0) && (
        <NoiseNote noise={diff.noise}>
          {leftOut && isOwner && (
            <Switch
              size="xs"
              label={leftOut === 'watch' ? 'Show everything' : 'Show ignored parts'}
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

/** What leaves parts of the versions out of a diff. */
function leftOutBy({ watch, ignored }: NoiseFindings): 'watch' | 'rules' | undefined {
  if (watch && watch.found.from + watch.found.to > 0) return 'watch';
  return ignored > 0 ? 'rules' : undefined;
}

/** The same comparison of everything; for the owner only. */
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
  if (!data) return <p className="muted">Comparing everything…</p>;
  if (data.diff) return <DiffContent diff={data.diff} />;
  return <p className="muted">{data.events[0]?.problem ?? 'A comparison of everything is not available.'}</p>;
}

/** The summary line, a note if the comparison is limited, and the differences. */
export function DiffContent({ diff }: { diff: AnyDiff }) {
  const isNoise = 'noise' in diff && diff.noise.is_noise === true;
  const summary = diffSummary(diff);
  return (
    <>
      <div className="stack gap-1 compact">
        {summary && <p className="medium">{summary}</p>}
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
    <p className="tiny muted">
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

interface NoiseNoteProps {
  noise: NoiseFindings;
  /** An action shown with the note. */
  children: ReactNode;
}

/** The effect of the source's watched part and noise rules on a change, and of each. */
function NoiseNote({ noise, children }: NoiseNoteProps) {
  return (
    <div className={`${classes.note} stack gap-2 small`}>
      <p className="line gap-2 stretch">
        <IconFilterOff size={16} aria-hidden />
        <span>{findingOf(noise)}</span>
      </p>
      {children}
      <details>
        <summary>
          {[noise.watch && 'Watched part', noise.rules.length > 0 && countOf(noise.rules.length, 'rule')]
            .filter(Boolean)
            .join(' and ')}{' '}
          of this source
        </summary>
        <ul className="plain stack gap-2 mt-2">
          {noise.watch && (
            <li>
              <code className="wrap-anywhere">{noise.watch.value}</code>
              <span className="muted">
                {SELECTOR_KINDS[noise.watch.kind]}; watched: {countOf(noise.watch.found.from, 'part')} before,{' '}
                {noise.watch.found.to} after.
              </span>
            </li>
          )}
          {noise.rules.map((rule, index) => (
            // Two rules may be equal.
            <li key={index}>
              <code className="wrap-anywhere">{rule.value}</code>
              <span className="muted">
                {rule.note && `${rule.note}. `}
                {SELECTOR_KINDS[rule.kind]}; {outcomeOf(rule)}.
              </span>
            </li>
          ))}
        </ul>
      </details>
    </div>
  );
}

function findingOf({ is_noise, ignored, outside, watch, rules }: NoiseFindings): string {
  if (outside) return 'Nothing changed in the part of this source that is watched.';
  if (watch && watch.found.from + watch.found.to === 0)
    return 'The watched part of this source is in neither version, so everything is compared.';
  if (rules.length === 0) return 'Only the watched part of this source is compared.';
  if (is_noise) return 'The noise rules of this source explain the entire change.';
  if (ignored === 0) return 'The noise rules of this source do not apply to this change.';
  return `The noise rules of this source ignore ${countOf(ignored, 'part')}. Other parts changed too.`;
}

/** What a selector of each kind is called. */
export const SELECTOR_KINDS: Record<Selector['kind'], string> = {
  selector: 'CSS selector',
  xpath: 'XPath',
  json_path: 'JSONPath',
  heading: 'Heading',
  table: 'Table',
  pattern: 'Pattern',
  region: 'Region of the picture',
};

function outcomeOf({ outcome, ignored }: RuleOutcome): string {
  switch (outcome) {
    case 'applied':
      return `ignored ${countOf(ignored.from, 'part')} before, ${ignored.to} after`;
    case 'not_applicable':
      return 'does not apply to this type of object';
    case 'timed_out':
      return 'took too long and was skipped';
    case 'failed':
      return 'could not be applied';
  }
}
