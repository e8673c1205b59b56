import { useVirtualizer, type VirtualItem } from '@tanstack/react-virtual';
import { useLayoutEffect, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { elementHeightOf, TallScroll } from './tallScroll.ts';

/** Rows kept ready above and below what is seen. */
const OVERSCAN = 8;

export interface TallList {
  /** The element that scrolls, once it is there; `setScroller` is its ref. */
  scroller: HTMLDivElement | null;
  setScroller: (element: HTMLDivElement | null) => void;
  /** How high the element inside the scroller is. */
  height: number;
  /** The rows to draw; `top` is where in that element. */
  rows: { index: number; top: number }[];
  /** The first and last row that are seen, or nearly. */
  first: number;
  last: number;
  /** Whether the list is at its very beginning. */
  atTop: boolean;
  /** Brings a row into sight, moving no further than needed. */
  reveal: (index: number) => void;
  scrollTo: (index: number) => void;
  /** How many rows fit. */
  perView: number;
}

export interface TallListOptions {
  count: number;
  rowHeight: number;
  /** A row that stays drawn wherever the list is: the one with the focus. */
  keep?: number;
  /** Where the list begins; later changes are not followed. */
  startAt?: number;
}

/** A list of any number of rows of one height: TanStack Virtual says which are seen, TallScroll where they are. */
export function useTallList({ count, rowHeight, keep, startAt = 0 }: TallListOptions): TallList {
  const [scroller, setScroller] = useState<HTMLDivElement | null>(null);
  const tell = useRef<(() => void) | undefined>(undefined);
  const [scroll] = useState(() => new TallScroll());
  const [place, setPlace] = useState<Place>({ shift: 0, atTop: true, viewport: 0 });
  const listHeight = count * rowHeight;

  // oxlint-disable-next-line react/incompatible-library -- its functions are called here and handed to nobody
  const virtualizer = useVirtualizer<HTMLDivElement, HTMLDivElement>({
    count,
    getScrollElement: () => scroller,
    estimateSize: () => rowHeight,
    overscan: OVERSCAN,
    // The offset told is the list's; the element's own would end where elements must.
    observeElementOffset: (instance, report) => {
      const element = instance.scrollElement;
      if (!element) return undefined;
      tell.current = () => {
        const { shift, offset } = scroll;
        const next = { shift, atTop: offset < rowHeight / 2, viewport: element.clientHeight };
        setPlace((before) => (isSamePlace(before, next) ? before : next));
        report(scroll.offset, false);
      };
      const moved = () => {
        scroll.scrolled(element.scrollTop);
        tell.current?.();
      };
      const rested = () => {
        const top = scroll.settle();
        flushSync(() => tell.current?.());
        if (element.scrollTop !== top) element.scrollTop = top;
      };
      element.addEventListener('scroll', moved, { passive: true });
      element.addEventListener('scrollend', rested, { passive: true });
      tell.current();
      return () => {
        element.removeEventListener('scroll', moved);
        element.removeEventListener('scrollend', rested);
      };
    },
  });

  const go = (offset: number) => {
    if (!scroller) return;
    const top = scroll.goTo(offset);
    flushSync(() => tell.current?.());
    scroller.scrollTop = top;
  };
  const begun = useRef(false);
  const { viewport } = place;
  useLayoutEffect(() => {
    if (!scroller || listHeight === 0) return;
    const seen = scroller.clientHeight;
    let top = scroll.resize(listHeight, seen);
    if (!begun.current && startAt > 0) top = scroll.goTo(startAt * rowHeight - seen / 3);
    begun.current = true;
    virtualizer.measure();
    tell.current?.();
    scroller.scrollTop = top;
  }, [scroller, listHeight, viewport, rowHeight, startAt, scroll, virtualizer]);

  const items = virtualizer.getVirtualItems();
  const drawn = withKept(items, keep, count);
  return {
    scroller,
    setScroller,
    height: elementHeightOf(listHeight),
    rows: drawn.map((index) => ({ index, top: index * rowHeight - place.shift })),
    first: items[0]?.index ?? 0,
    last: items.at(-1)?.index ?? 0,
    atTop: place.atTop,
    perView: Math.max(1, Math.floor(viewport / rowHeight)),
    reveal: (index) => {
      const start = index * rowHeight;
      if (start < scroll.offset) go(start);
      else if (start + rowHeight > scroll.offset + viewport) go(start + rowHeight - viewport);
    },
    scrollTo: (index) => go(index * rowHeight),
  };
}

/** What of the scrolling is drawn by; most moves of the wheel change none of it. */
interface Place {
  shift: number;
  atTop: boolean;
  viewport: number;
}

function isSamePlace(left: Place, right: Place): boolean {
  return left.shift === right.shift && left.atTop === right.atTop && left.viewport === right.viewport;
}

function withKept(items: VirtualItem[], keep: number | undefined, count: number): number[] {
  const indexes = items.map(({ index }) => index);
  if (keep === undefined || keep >= count || indexes.includes(keep)) return indexes;
  return [...indexes, keep].sort((left, right) => left - right);
}
