import type { Virtualizer } from '@tanstack/react-virtual';
import { useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { ScaledScroll } from './scaledScroll.ts';

type ListVirtualizer = Virtualizer<HTMLDivElement, HTMLDivElement>;

/** Follows the scrolling element of a list of any height. */
export function useScaledScroll(rowHeight: number) {
  const [scroller, setScroller] = useState<HTMLDivElement | null>(null);
  const [scroll] = useState(() => new ScaledScroll());
  const [place, setPlace] = useState<ScrollState>({ shift: 0, atTop: true, viewport: 0 });
  /** Reports the position to the virtualizer, and renders if the scroll state changed. */
  const notify = useRef<(() => void) | undefined>(undefined);

  const observe = (
    { scrollElement: element }: ListVirtualizer,
    report: (offset: number, isScrolling: boolean) => void,
  ) => {
    if (!element) return undefined;
    notify.current = () => {
      const { shift, offset } = scroll;
      const next = { shift, atTop: offset < rowHeight / 2, viewport: element.clientHeight };
      setPlace((before) => (isSameScrollState(before, next) ? before : next));
      report(scroll.offset, false);
    };
    const stop = follow(element, scroll, () => notify.current?.());
    notify.current();
    return stop;
  };

  return { scroller, setScroller, scroll, place, observe, notify };
}

/** Follows the scrolling of an element. Returns a function that ends it. */
function follow(element: HTMLElement, scroll: ScaledScroll, notify: () => void): () => void {
  const moved = () => {
    scroll.scrolled(element.scrollTop);
    notify();
  };
  const rested = () => {
    const top = scroll.settle();
    flushSync(notify);
    if (element.scrollTop !== top) element.scrollTop = top;
  };
  element.addEventListener('scroll', moved, { passive: true });
  element.addEventListener('scrollend', rested, { passive: true });
  return () => {
    element.removeEventListener('scroll', moved);
    element.removeEventListener('scrollend', rested);
  };
}

/** The scroll state that affects rendering; most scroll events do not change it. */
interface ScrollState {
  shift: number;
  atTop: boolean;
  viewport: number;
}

function isSameScrollState(left: ScrollState, right: ScrollState): boolean {
  return left.shift === right.shift && left.atTop === right.atTop && left.viewport === right.viewport;
}
