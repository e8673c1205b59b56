import { CloseButton } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import type { ReactNode } from 'react';
import classes from './SplitView.module.css';

/** From this width on a row opens beside its list; below it, the row's own page is gone to. */
const WIDE = '(min-width: 80em)';

export function useIsWide(): boolean {
  return useMediaQuery(WIDE, false, { getInitialValueInEffect: false });
}

export interface SplitViewProps {
  /** What the pane shows, for screen readers. */
  label: string;
  /** Nothing where nothing is open. */
  pane: ReactNode;
  onClose: () => void;
  children: ReactNode;
}

/** A list, and beside it the one thing of the list that is open. */
export function SplitView({ label, pane, onClose, children }: SplitViewProps) {
  return (
    <div className={classes.split} data-open={pane ? true : undefined}>
      <div className={classes.list}>{children}</div>
      {pane && (
        <aside className={classes.pane} aria-label={label}>
          <CloseButton className={classes.close} aria-label="Close the pane" onClick={onClose} />
          {pane}
        </aside>
      )}
    </div>
  );
}
