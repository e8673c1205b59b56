import { IconFilterOff } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import type { NoiseFindings, RuleOutcome } from '../../../../../shared/noise.ts';
import { countOf } from '../../../format/size.ts';
import classes from './NoiseNote.module.css';

export interface NoiseNoteProps {
  noise: NoiseFindings;
  /** What can be done about it. */
  children: ReactNode;
}

/** What the source's noise rules make of a change, and each rule with what became of it. */
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
            // Two rules may be the same.
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
  if (is_noise) return 'The noise rules of this source explain all of this change: nothing else differs.';
  if (ignored === 0) return 'The noise rules of this source leave nothing out here.';
  return `The noise rules of this source leave ${countOf(ignored, 'piece')} out; something else changed too.`;
}

const KINDS: Record<RuleOutcome['kind'], string> = {
  selector: 'A CSS selector',
  pattern: 'A pattern',
  json_path: 'A JSONPath',
};

function outcomeOf({ outcome, ignored }: RuleOutcome): string {
  switch (outcome) {
    case 'applied':
      return `left ${countOf(ignored.from, 'piece')} out before, ${ignored.to} now`;
    case 'not_applicable':
      return 'has nothing to do with this kind of object';
    case 'timed_out':
      return 'took too long and was left aside';
    case 'failed':
      return 'could not be applied';
  }
}
