import { IconFilterOff } from '@tabler/icons-react';
import { Hint } from '../../components/feedback/Hint.tsx';
import classes from './NoiseMark.module.css';

/** A change that the source's noise rules explain wholly: said quietly, and never hidden. */
export function NoiseMark() {
  return (
    <Hint
      label="The noise rules of its source explain all that changed. Both versions are kept as always."
      maxWidth={280}
    >
      {(trigger) => (
        <span {...trigger} className={classes.mark}>
          <IconFilterOff size={13} stroke={1.8} aria-hidden />
          noise
        </span>
      )}
    </Hint>
  );
}
