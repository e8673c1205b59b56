import { IconFilterOff } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import type { NoiseFindings, RuleOutcome } from '../../../../../shared/collection/noise.ts';
import { countOf } from '../../../format/size.ts';
import classes from './NoiseNote.module.css';

export interface NoiseNoteProps {
  noise: NoiseFindings;
  /** An action shown with the note. */
  children: ReactNode;
}

/** The effect of the source's noise rules on a change, and of each rule. */
export function NoiseNote({ noise, children }: NoiseNoteProps) {
  return (
    <div className={classes.note}>
      <p className={classes.finding}>
        <IconFilterOff size={16} aria-hidden />
        <span>{findingOf(noise)}</span>
      </p>
      {children}
      <details className={classes.rules}>
        <summary>{countOf(noise.rules.length, 'rule')} of this source</summary>
        <ul>
          {noise.rules.map((rule, index) => (
            // Two rules may be equal.
            <li key={index}>
              <code className="wrap-anywhere">{rule.value}</code>
              <span className="muted">
                {rule.note && `${rule.note}. `}
                {KINDS[rule.kind]}; {outcomeOf(rule)}.
              </span>
            </li>
          ))}
        </ul>
      </details>
    </div>
  );
}

function findingOf({ is_noise, ignored }: NoiseFindings): string {
  if (is_noise) return 'The noise rules of this source explain the whole change.';
  if (ignored === 0) return 'The noise rules of this source do not apply to this change.';
  return `The noise rules of this source ignore ${countOf(ignored, 'part')}. Other parts changed too.`;
}

const KINDS: Record<RuleOutcome['kind'], string> = {
  selector: 'CSS selector',
  pattern: 'Pattern',
  json_path: 'JSONPath',
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
