import { IconAlertTriangle, IconCircleCheck, IconCircleDashed, IconShieldX } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import classes from './NodeHealth.module.css';

export type HealthStatus = 'well' | 'warning' | 'bad' | 'idle';

export interface PanelProps {
  title: string;
  health: HealthStatus;
  /** The status in a few words. */
  summary: ReactNode;
  children?: ReactNode;
}

const ICONS = {
  well: IconCircleCheck,
  warning: IconAlertTriangle,
  bad: IconShieldX,
  idle: IconCircleDashed,
};

/** One aspect of the node's health: an icon, a short status and details. */
export function Panel({ title, health, summary, children }: PanelProps) {
  const Icon = ICONS[health];
  return (
    <div className={classes.panel}>
      <h2>{title}</h2>
      <p className={classes.summary} data-health={health}>
        <Icon size={18} aria-hidden /> <span>{summary}</span>
      </p>
      <div className={classes.more}>{children}</div>
    </div>
  );
}
