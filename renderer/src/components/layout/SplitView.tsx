import { CloseButton } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import type { ReactNode } from 'react';
import classes from './SplitView.module.css';

/** From this width, a row opens next to the list. Below it, the row's own page opens. */
const WIDE = '(min-width: 80em)';

export function useIsWide(): boolean {
  return useMediaQuery(WIDE, false, { getInitialValueInEffect: false });
}

export interface SplitViewProps {
  /** The accessible name of the pane. */
  label: string;
  /** Undefined if nothing is open. */
  pane: ReactNode;
  onClose: () => void;
  children: ReactNode;
}

/** A list with the open item next to it. */
export function SplitView({ label, pane, onClose, children }: SplitViewProps) {
  return (
    <div className={classes.split} data-open={pane ? true : undefined}>
      <div className={classes.list}>{children}</div>
      {pane && (
        <aside className={classes.pane} aria-label={label}>
          <CloseButton className={classes.close} aria-label="Close pane" onClick={onClose} />
          {pane}
        </aside>
      )}
    </div>
  );
}
