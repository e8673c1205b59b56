import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link } from 'react-router';
import type { NoiseRule, RuleOutcome } from '../../../../../shared/collection/noise.ts';
import type { NoisePreview } from '../../../../../shared/collection/noisePreview.ts';
import { call } from '../../../api/client.ts';
import { StateBadge } from '../../../components/data/StateBadge.tsx';
import { TimeText } from '../../../components/data/TimeText.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { countOf, formatCount } from '../../../format/size.ts';
import classes from './NoisePreviewPanel.module.css';
import { type NoiseErrors, ruleErrorsOf, rulesOf, type TypedRule } from './noiseRules.ts';
import { RemainingDifferences } from './RemainingDifferences.tsx';

export interface NoiseTrialProps {
  sourceId: string;
  rules: readonly TypedRule[];
  /** Applies the rules to all past versions. Undefined while the rules are not saved. */
  onRun: (() => void) | undefined;
  /** Reports the rules' errors, which are shown next to the rules. */
  onErrors: (errors: NoiseErrors) => void;
}

/** Previews the rules on the newest changes of the source. Nothing is saved. */
export function NoisePreviewPanel({ sourceId, rules, onRun, onErrors }: NoiseTrialProps) {
  const trial = useMutation({
    mutationFn: (newRules: NoiseRule[]) =>
      call('previewNoiseRules', { params: { id: sourceId }, body: { rules: newRules } }),
    onError: (error) => onErrors(ruleErrorsOf(error, 'rules')),
  });
  const run = () => {
    const parsed = rulesOf(rules);
    if ('errors' in parsed) return onErrors(parsed.errors);
    onErrors({});
    trial.mutate(parsed.value);
  };
  const isShown = trial.isError && Object.keys(ruleErrorsOf(trial.error, 'rules')).length > 0;
  return (
    <div className={classes.trial}>
      <div className={classes.buttons}>
        <Button variant="default" size="xs" onClick={run} loading={trial.isPending}>
          Preview
        </Button>
        {onRun && (
          <Button variant="default" size="xs" onClick={onRun}>
            Apply to all past versions
          </Button>
        )}
      </div>
      <div aria-live="polite">
        {trial.data && <Findings preview={trial.data} />}
        {trial.data?.events[0] && (
          <RemainingDifferences
            key={trial.submittedAt}
            sourceId={sourceId}
            rules={trial.variables}
            event={trial.data.events[0].event}
          />
        )}
        {trial.isError && !isShown && <ErrorNote error={trial.error} onRetry={run} />}
      </div>
    </div>
  );
}

function Findings({ preview: { events, total } }: { preview: NoisePreview }) {
  const [newest] = events;
  if (!newest)
    return <p className="small muted">The source has not changed yet, so there is nothing to preview.</p>;
  const noise = events.filter((event) => event.noise?.is_noise).length;
  return (
    <div className={classes.findings}>
      <p className="small">
        <strong>
          {noise} of {events.length === total ? '' : 'the last '}
          {countOf(events.length, 'change')} would be noise.
        </strong>{' '}
        {newest.noise && newest.noise.rules.length > 0 && 'Latest change:'}
      </p>
      {newest.noise && newest.noise.rules.length > 0 && (
        <ul className={classes.rules}>
          {newest.noise.rules.map((rule, index) => (
            // Two rules may be equal; their order is that of the form.
            // oxlint-disable-next-line react/no-array-index-key
            <li key={index}>
              <code>{rule.value}</code> {ruleText(rule)}
            </li>
          ))}
        </ul>
      )}
      <ul className={classes.events} aria-label="Effect of the rules on the newest changes">
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

/** The effect of a rule on the two versions of a change. */
function ruleText({ outcome, ignored }: RuleOutcome): string {
  switch (outcome) {
    case 'not_applicable':
      return 'does not apply to this type of object.';
    case 'timed_out':
      return 'took too long and was skipped. Simplify it.';
    case 'failed':
      return 'could not be applied.';
    case 'applied':
      return ignored.from + ignored.to === 0
        ? 'matches nothing.'
        : `ignores ${countOf(ignored.from, 'part')} before and ${formatCount(ignored.to)} after.`;
  }
}
