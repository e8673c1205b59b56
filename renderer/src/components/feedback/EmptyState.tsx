import type { ReactNode } from 'react';
import classes from './EmptyState.module.css';

export interface EmptyStateProps {
  title: string;
  /** What will be here, in a sentence. */
  children: ReactNode;
  /** The first step, as a button or a link. */
  action?: ReactNode;
}

/** Says what will be here and offers the first step. */
export function EmptyState({ title, children, action }: EmptyStateProps) {
  return (
    <div className={classes.empty}>
      <h2>{title}</h2>
      <p className={classes.text}>{children}</p>
      {action && <div className={classes.action}>{action}</div>}
    </div>
  );
}
