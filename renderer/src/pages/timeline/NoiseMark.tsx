import { IconFilterOff } from '@tabler/icons-react';
import { LazyTooltip } from '../../components/feedback/LazyTooltip.tsx';
import classes from './NoiseMark.module.css';

/** Marks a change that is fully explained by noise rules. */
export function NoiseMark() {
  return (
    <LazyTooltip
      label="The noise rules of this source explain the whole change. Both versions are kept."
      maxWidth={280}
    >
      {(trigger) => (
        <span {...trigger} className={classes.mark}>
          <IconFilterOff size={13} stroke={1.8} aria-hidden />
          noise
        </span>
      )}
    </LazyTooltip>
  );
}
