import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link } from 'react-router';
import type { NoiseRule, RuleOutcome } from '../../../../../shared/noise.ts';
import type { NoisePreview } from '../../../../../shared/noisePreview.ts';
import { call } from '../../../api/client.ts';
import { StateBadge } from '../../../components/data/StateBadge.tsx';
import { TimeText } from '../../../components/data/TimeText.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { countOf, formatCount } from '../../../format/size.ts';
import classes from './NoiseTrial.module.css';
import { type NoiseErrors, ruleErrorsOf, rulesOf, type TypedRule } from './noiseRules.ts';
import { WhatIsLeft } from './WhatIsLeft.tsx';

export interface NoiseTrialProps {
  sourceId: string;
  rules: readonly TypedRule[];
  /** Runs the rules over all past versions; left out while they are not saved as they stand. */
  onRun: (() => void) | undefined;
  /** What is wrong with the rules, to be told where they stand. */
  onErrors: (errors: NoiseErrors) => void;
}

/** Tries the rules as they are typed on the newest changes of the source; nothing is changed by it. */
export function NoiseTrial({ sourceId, rules, onRun, onErrors }: NoiseTrialProps) {
  const trial = useMutation({
    mutationFn: (asked: NoiseRule[]) =>
      call('previewNoiseRules', { params: { id: sourceId }, body: { rules: asked } }),
    onError: (error) => onErrors(ruleErrorsOf(error, 'rules')),
  });
  const run = () => {
    const parsed = rulesOf(rules);
    if ('errors' in parsed) return onErrors(parsed.errors);
    onErrors({});
    trial.mutate(parsed.value);
  };
  const isTold = trial.isError && Object.keys(ruleErrorsOf(trial.error, 'rules')).length > 0;
  return (
    <div className={classes.trial}>
      <div className={classes.buttons}>
        <Button variant="default" size="xs" onClick={run} loading={trial.isPending}>
          Preview
        </Button>
        {onRun && (
          <Button variant="default" size="xs" onClick={onRun}>
            Run over all past versions
          </Button>
        )}
      </div>
      <div aria-live="polite">
        {trial.data && <Findings preview={trial.data} />}
        {trial.data?.events[0] && (
          <WhatIsLeft
            key={trial.submittedAt}
            sourceId={sourceId}
            rules={trial.variables}
            event={trial.data.events[0].event}
          />
        )}
        {trial.isError && !isTold && <ErrorNote error={trial.error} onRetry={run} />}
      </div>
    </div>
  );
}

function Findings({ preview: { events, total } }: { preview: NoisePreview }) {
  const [newest] = events;
  if (!newest)
    return <p className="small muted">The source has not changed yet: there is nothing to try them on.</p>;
  const noise = events.filter((event) => event.noise?.is_noise).length;
  return (
    <div className={classes.findings}>
      <p className="small">
        <strong>
          {noise} of {events.length === total ? '' : 'the last '}
          {countOf(events.length, 'change')} would be noise.
        </strong>{' '}
        {newest.noise && newest.noise.rules.length > 0 && 'Of the latest change:'}
      </p>
      {newest.noise && newest.noise.rules.length > 0 && (
        <ul className={classes.rules}>
          {newest.noise.rules.map((rule, index) => (
            // Two rules may be alike; their order is that of the form.
            // oxlint-disable-next-line react/no-array-index-key
            <li key={index}>
              <code>{rule.value}</code> {ruleWords(rule)}
            </li>
          ))}
        </ul>
      )}
      <ul className={classes.events} aria-label="What the rules make of the newest changes">
        {events.map(({ event, observed_at, noise: found, problem }) => (
          <li key={event}>
            <StateBadge kind="noise" value={found === null ? 'unknown' : found.is_noise ? 'noise' : 'news'} />
            <Link to={`/timeline/${event}`} target="_blank">
              Event {event}
            </Link>
            <span className="muted">
              <TimeText at={observed_at} />
              {problem && `: ${problem}`}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** What a rule did to the two versions of a change. */
function ruleWords({ outcome, ignored }: RuleOutcome): string {
  switch (outcome) {
    case 'not_applicable':
      return 'has nothing to do with this kind of object.';
    case 'timed_out':
      return 'takes too long and was left aside. Make it simpler.';
    case 'failed':
      return 'could not be applied.';
    case 'applied':
      return ignored.from + ignored.to === 0
        ? 'matches nothing.'
        : `leaves out ${countOf(ignored.from, 'piece')} before and ${formatCount(ignored.to)} after.`;
  }
}
