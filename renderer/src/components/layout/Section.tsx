import { type ReactNode, useId } from 'react';
import classes from './Section.module.css';

export interface SectionProps {
  title: string;
  actions?: ReactNode;
  children: ReactNode;
}

/** A section of a page with its own heading. */
export function Section({ title, actions, children }: SectionProps) {
  const id = useId();
  return (
    <section aria-labelledby={id} className={classes.section}>
      <header>
        <h2 id={id}>{title}</h2>
        {actions}
      </header>
      {children}
    </section>
  );
}
