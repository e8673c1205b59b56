import { formatCount } from '../../format/size.ts';
import { LazyTooltip } from '../feedback/LazyTooltip.tsx';
import classes from './StateBadge.module.css';
import { STATES, type StateDisplay, type StateKind, type StateValue } from './states/states.ts';

export interface StateBadgeProps<Kind extends StateKind> {
  kind: Kind;
  value: StateValue<Kind>;
  /** `plain` for dense tables, `boxed` for a badge on its own. */
  look?: 'plain' | 'boxed';
  /** A number after the label. */
  count?: number;
}

/** A state as an icon, a label and a colour. A tooltip explains it. */
export function StateBadge<Kind extends StateKind>({
  kind,
  value,
  look = 'plain',
  count,
}: StateBadgeProps<Kind>) {
  const states = STATES[kind] as Record<StateValue<Kind>, StateDisplay>;
  const { label, icon: Icon, tone, meaning } = states[value];
  return (
    <LazyTooltip label={meaning} maxWidth={280}>
      {(trigger) => (
        <span
          {...trigger}
          className={`${classes.badge} ${look === 'boxed' ? classes.boxed : ''}`}
          data-tone={tone}
        >
          <Icon size={15} stroke={1.9} aria-hidden />
          {count !== undefined && <span className="numeric">{formatCount(count)}</span>}
          <span>{label}</span>
        </span>
      )}
    </LazyTooltip>
  );
}
