import { type FocusEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react';
import type { VirtualRows } from './useVirtualRows.ts';

export interface RowFocus {
  /** The focused row. It stays rendered wherever the list is scrolled. */
  focused: number | undefined;
  onFocus: (event: FocusEvent) => void;
  onKeyDown: (event: KeyboardEvent, list: VirtualRows) => void;
  /** Focuses a row, wherever the focus is. */
  focusRow: (index: number, list: VirtualRows) => void;
}

/**
 * Moves the focus between rows with the arrow keys, Page Up, Page Down, Home and End. The focus is stored as
 * a distance from the end, because new rows arrive at the beginning.
 */
export function useRowFocus(count: number): RowFocus {
  const [fromEnd, setFromEnd] = useState<number>();
  const focused = fromEnd === undefined ? undefined : count - fromEnd;
  const wanted = useRef<{ index: number; scroller: HTMLElement }>(undefined);
  useEffect(() => {
    if (!wanted.current) return;
    const { index, scroller } = wanted.current;
    const link = scroller.querySelector<HTMLElement>(`[data-index="${index}"] [data-row-link]`);
    if (!link) return;
    wanted.current = undefined;
    link.focus({ preventScroll: true });
  });
  const focusRow = (to: number, list: VirtualRows) => {
    if (!list.scroller) return;
    const index = Math.min(Math.max(to, 0), count - 1);
    wanted.current = { index, scroller: list.scroller };
    setFromEnd(count - index);
    list.reveal(index);
  };
  return {
    focused,
    focusRow,
    onFocus: ({ target }) => {
      const index = indexAt(target);
      setFromEnd(index === undefined ? undefined : count - index);
    },
    onKeyDown: (event, list) => {
      if (focused === undefined || !list.scroller || event.altKey || event.ctrlKey || event.metaKey) return;
      const steps: Partial<Record<string, number>> = {
        ArrowDown: focused + 1,
        ArrowUp: focused - 1,
        PageDown: focused + list.perView,
        PageUp: focused - list.perView,
        Home: 0,
        End: count - 1,
      };
      const step = steps[event.key];
      if (step === undefined) return;
      event.preventDefault();
      focusRow(step, list);
    },
  };
}

/** The index of the row that contains an element. */
export function indexAt(target: EventTarget): number | undefined {
  const row = target instanceof Element ? target.closest<HTMLElement>('[data-index]') : null;
  return row ? Number(row.dataset.index) : undefined;
}
