import { type Ref, useEffect, useImperativeHandle, useState } from 'react';
import { useNavigate } from 'react-router';
import { useToggleSeen } from '../event/SeenButton.tsx';
import { useShortcuts } from '../keys/useShortcuts.ts';
import type { EventRows } from './useEventRows.ts';
import type { RowFocus } from './useRowFocus.ts';
import type { VirtualRows } from './useVirtualRows.ts';

/** While `j` or `k` is held down, rows are passed without being opened. */
const OPEN_AFTER_MS = 80;

/** Moves the selection: 1 to the next older event, -1 to the next newer one. */
export interface EventListHandle {
  step: (by: 1 | -1) => void;
}

export interface SelectionOptions {
  ref: Ref<EventListHandle>;
  /** The event that is open next to the list. */
  openId: number | undefined;
  /** The URL of an event's page, with the filters preserved. */
  addressOfEvent: (id: number) => string;
  /** Whether a selected row opens next to the list. */
  opensSelected: boolean;
}

export interface ListedEvents {
  rows: EventRows;
  list: VirtualRows;
  focus: RowFocus;
}

/** The keys of the list: `j` and `k` select a row, which opens next to the list if there is room; `m` marks it. */
export function useSelection(
  { ref, openId, addressOfEvent, opensSelected }: SelectionOptions,
  { rows, list, focus }: ListedEvents,
): void {
  const navigate = useNavigate();
  const toggleSeen = useToggleSeen();
  const [toOpen, setToOpen] = useState<number>();
  const openIndex = list.rows.find(({ index }) => rows.rowAt(index)?.id === openId)?.index;
  const selected = (openId === undefined ? undefined : openIndex) ?? focus.focused;
  const step = (by: 1 | -1) => {
    if (!rows.shown) return;
    const index = Math.min(Math.max((selected ?? -1) + by, 0), rows.shown - 1);
    focus.focusRow(index, list);
    if (opensSelected) setToOpen(index);
  };
  useImperativeHandle(ref, () => ({ step }));
  const address = toOpen === undefined ? undefined : rows.rowAt(toOpen)?.id;
  useEffect(() => {
    if (address === undefined) return;
    const timer = setTimeout(() => {
      setToOpen(undefined);
      // Rendered with the change of the address, so that the next key acts on the new event.
      void navigate(addressOfEvent(address), { replace: openId !== undefined, flushSync: true });
    }, OPEN_AFTER_MS);
    return () => clearTimeout(timer);
  }, [address, openId, navigate, addressOfEvent]);
  useShortcuts({
    j: () => step(1),
    k: () => step(-1),
    m: () => {
      const id = openId ?? (selected === undefined ? undefined : rows.rowAt(selected)?.id);
      if (id !== undefined) toggleSeen?.(id);
    },
  });
}
