import { IconInfoCircle } from '@tabler/icons-react';
import { SELF } from '../../../../../shared/event.ts';
import { Hint } from '../../../components/feedback/Hint.tsx';
import classes from './Corroboration.module.css';

const MEANING =
  'The same bytes, byte for byte, reached this node under these names for the same source. It does not mean that they are independent of each other: whoever copied another’s file has the same bytes too. That nobody else has them says nothing either.';

/** Who else brought the same bytes, and on hover what that means and what it does not mean. */
export function Corroboration({ observers }: { observers: readonly string[] }) {
  return (
    <Hint label={MEANING} maxWidth={340}>
      {(trigger) => (
        // It can be focused, because what it means is told nowhere else.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <span {...trigger} className={classes.held} tabIndex={0}>
          {observers.map(observerName).join(', ')}
          <IconInfoCircle size={14} aria-hidden />
          <span className="visually-hidden">. {MEANING}</span>
        </span>
      )}
    </Hint>
  );
}

function observerName(observer: string): string {
  return observer === SELF ? 'this node' : observer;
}
