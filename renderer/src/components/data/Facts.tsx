import type { ReactNode } from 'react';
import classes from './Facts.module.css';

export interface FactsProps {
  /** By name, or as pairs, in the order in which they are shown. */
  facts: Readonly<Record<string, ReactNode>> | readonly (readonly [string, ReactNode])[];
}

/** Names and values, one beneath the other. Facts whose value is null, undefined or false are left out. */
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
