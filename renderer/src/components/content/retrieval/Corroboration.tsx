import { IconInfoCircle } from '@tabler/icons-react';
import { SELF } from '../../../../../shared/collection/event.ts';
import { LazyTooltip } from '../../feedback/LazyTooltip.tsx';
import classes from './Corroboration.module.css';

/** What it means that several observers have the same bytes. */
export const CORROBORATION_MEANING =
  'These observers provided exactly the same bytes for this source. That does not prove that they are independent: one may have copied from another. If nobody else has the bytes, that proves nothing either.';

/** Other observers with the same bytes. The tooltip explains what that means. */
export function Corroboration({ observers }: { observers: readonly string[] }) {
  return (
    <LazyTooltip label={CORROBORATION_MEANING} maxWidth={340}>
      {(trigger) => (
        // Focusable, because the explanation exists only in the tooltip.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <span {...trigger} className={classes.held} tabIndex={0}>
          {observers.map(observerName).join(', ')}
          <IconInfoCircle size={14} aria-hidden />
          <span className="visually-hidden">. {CORROBORATION_MEANING}</span>
        </span>
      )}
    </LazyTooltip>
  );
}

function observerName(observer: string): string {
  return observer === SELF ? 'this node' : observer;
}
