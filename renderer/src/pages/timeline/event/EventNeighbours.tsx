import { Button } from '@mantine/core';
import { IconChevronDown, IconChevronUp } from '@tabler/icons-react';
import { useNavigate } from 'react-router';
import type { EventNeighbours as Neighbours } from '../../../../../shared/collection/event.ts';
import { useShortcuts } from '../keys/useShortcuts.ts';
import classes from './EventNeighbours.module.css';

export interface EventNeighboursProps {
  neighbours: Neighbours;
  addressOfEvent: (id: number) => string;
  /** Moves in the list next to the event: 1 to older, -1 to newer. Without it, to the event's neighbours. */
  onStep: ((step: 1 | -1) => void) | undefined;
}

/** Buttons and keys for the next older and newer event, of all sources and of this one. */
export function EventNeighbours({ neighbours, addressOfEvent, onStep }: EventNeighboursProps) {
  const navigate = useNavigate();
  // Rendered with the change of the address, so that the next key acts on the new event.
  const options = { replace: onStep !== undefined, flushSync: true };
  const opener = (id: number | null) =>
    id === null ? undefined : () => void navigate(addressOfEvent(id), options);
  const { newer, older, newer_of_source, older_of_source } = neighbours;
  const openNewer = onStep ? () => onStep(-1) : opener(newer);
  const openOlder = onStep ? () => onStep(1) : opener(older);
  const openNewerOfSource = opener(newer_of_source);
  const openOlderOfSource = opener(older_of_source);
  // The list has these keys itself.
  useShortcuts({
    ...(onStep ? {} : { j: openOlder, k: openNewer }),
    J: openOlderOfSource,
    K: openNewerOfSource,
  });
  return (
    <nav className={classes.steps} aria-label="Other events">
      <div className={classes.pair}>
        <Step isUp label="Newer" keys="k" onClick={openNewer} />
        <Step label="Older" keys="j" onClick={openOlder} />
      </div>
      <div className={classes.pair}>
        <Step isUp label="Newer of this source" keys="K" onClick={openNewerOfSource} />
        <Step label="Older of this source" keys="J" onClick={openOlderOfSource} />
      </div>
    </nav>
  );
}

interface StepProps {
  label: string;
  keys: string;
  isUp?: boolean;
  onClick: (() => void) | undefined;
}

function Step({ label, keys, isUp = false, onClick }: StepProps) {
  const Icon = isUp ? IconChevronUp : IconChevronDown;
  return (
    <Button
      variant="default"
      size="compact-sm"
      leftSection={<Icon size={14} aria-hidden />}
      rightSection={
        <kbd className={classes.key} aria-hidden>
          {keys}
        </kbd>
      }
      aria-keyshortcuts={keys === keys.toUpperCase() ? `Shift+${keys}` : keys}
      disabled={!onClick}
      onClick={onClick}
    >
      {label}
    </Button>
  );
}
