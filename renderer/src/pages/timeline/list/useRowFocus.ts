import { type FocusEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react';
import type { TallList } from './useTallList.ts';

export interface RowFocus {
  /** The row that has the focus; it stays drawn wherever the list is scrolled to. */
  focused: number | undefined;
  onFocus: (event: FocusEvent) => void;
  onKeyDown: (event: KeyboardEvent, list: TallList) => void;
}

/**
 * The arrow keys, Page Up and Down, Home and End go from row to row along the rows' links. The focus is kept by how many
 * rows are from it to the end, because new rows come in at the beginning.
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
  return {
    focused,
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
      const index = Math.min(Math.max(step, 0), count - 1);
      wanted.current = { index, scroller: list.scroller };
      setFromEnd(count - index);
      list.reveal(index);
    },
  };
}

/** The index of the row that an element lies in. */
export function indexAt(target: EventTarget): number | undefined {
  const row = target instanceof Element ? target.closest<HTMLElement>('[data-index]') : null;
  return row ? Number(row.dataset.index) : undefined;
}
