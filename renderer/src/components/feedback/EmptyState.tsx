import type { ReactNode } from 'react';
import classes from './EmptyState.module.css';

export interface EmptyStateProps {
  title: string;
  /** One sentence about what will appear here. */
  children: ReactNode;
  /** A button or link for the first step. */
  action?: ReactNode;
}

/** Shown in place of an empty list: what will appear here, and the first step. */
export function EmptyState({ title, children, action }: EmptyStateProps) {
  return (
    <div className={classes.empty}>
      <h2>{title}</h2>
      <p className={classes.text}>{children}</p>
      {action && <div className={classes.action}>{action}</div>}
    </div>
  );
}
