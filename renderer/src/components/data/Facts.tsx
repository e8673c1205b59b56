import type { ReactNode } from 'react';
import classes from './Facts.module.css';

export interface FactsProps {
  /** By name, or as pairs, in display order. */
  facts: Readonly<Record<string, ReactNode>> | readonly (readonly [string, ReactNode])[];
}

/** A list of names and values. Entries whose value is null, undefined or false are omitted. */
export function Facts({ facts }: FactsProps) {
  const pairs = Array.isArray(facts) ? facts : Object.entries(facts);
  return (
    <dl className={classes.facts}>
      {pairs.map(([name, value]) =>
        value === null || value === undefined || value === false ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}
