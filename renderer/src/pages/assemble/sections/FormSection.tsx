import { type ReactNode, useId } from 'react';
import classes from './FormSection.module.css';

export interface FormSectionProps {
  title: string;
  /** What to enter, and why. */
  hint?: ReactNode;
  /** The id that issues of the whole section jump to. */
  field?: string;
  error?: string;
  actions?: ReactNode;
  children: ReactNode;
}

/** A section of the form with its own heading. */
export function FormSection({ title, hint, field, error, actions, children }: FormSectionProps) {
  const id = useId();
  return (
    <section className={classes.section} aria-labelledby={id} id={field} tabIndex={field ? -1 : undefined}>
      <header>
        <div>
          <h2 id={id}>{title}</h2>
          {hint && <p className={classes.hint}>{hint}</p>}
        </div>
        {actions}
      </header>
      <div className={classes.fields}>{children}</div>
      {error && (
        <p role="alert" className={classes.error}>
          {error}
        </p>
      )}
    </section>
  );
}
