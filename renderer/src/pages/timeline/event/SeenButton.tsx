import { Button } from '@mantine/core';
import { IconCircle, IconCircleFilled } from '@tabler/icons-react';
import { useMarkSeen, useSeenEvents } from '../../../state/seenEvents.ts';
import { useShortcuts } from '../keys/useShortcuts.ts';
import classes from './EventNeighbours.module.css';

export interface SeenButtonProps {
  id: number;
  /** Whether the key `m` is handled here, and not by a list. */
  hasKey: boolean;
}

/** Marks an event as seen or unseen. Only for the owner. */
export function SeenButton({ id, hasKey }: SeenButtonProps) {
  const seen = useSeenEvents();
  const toggle = useToggleSeen();
  useShortcuts({ m: hasKey && toggle ? () => toggle(id) : undefined });
  if (!seen || !toggle) return null;
  const isUnseen = seen.isUnseen(id);
  const Icon = isUnseen ? IconCircleFilled : IconCircle;
  return (
    <Button
      variant="default"
      size="compact-sm"
      leftSection={<Icon size={10} aria-hidden />}
      rightSection={
        <kbd className={classes.key} aria-hidden>
          m
        </kbd>
      }
      aria-keyshortcuts="m"
      onClick={() => toggle(id)}
    >
      {isUnseen ? 'Mark as seen' : 'Mark as unseen'}
    </Button>
  );
}

/** Returns a function that marks an event as seen, or as unseen if it was; undefined for visitors. */
export function useToggleSeen(): ((id: number) => void) | undefined {
  const seen = useSeenEvents();
  const mark = useMarkSeen();
  if (!seen) return undefined;
  return (id) => void mark(seen.isUnseen(id) ? { seen: [id] } : { unseen: [id] });
}
