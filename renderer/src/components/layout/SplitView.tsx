import { Button, CloseButton, Drawer } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { IconArrowLeft } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import classes from './SplitView.module.css';

/** From this width, a row opens next to the list. Below it, it opens above the list. */
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

/** A list with the open item next to it, or above it on a narrow screen. */
export function SplitView({ label, pane, onClose, children }: SplitViewProps) {
  const isWide = useIsWide();
  if (!isWide) {
    return (
      <>
        <div className={classes.list}>{children}</div>
        <Drawer
          opened={Boolean(pane)}
          onClose={onClose}
          position="right"
          size="min(100%, 40rem)"
          withCloseButton={false}
          attributes={{ content: { 'aria-label': label } }}
        >
          <Button
            variant="default"
            size="xs"
            leftSection={<IconArrowLeft size={16} aria-hidden />}
            onClick={onClose}
            className={classes.back}
          >
            Back
          </Button>
          {pane}
        </Drawer>
      </>
    );
  }
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
