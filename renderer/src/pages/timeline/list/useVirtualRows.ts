import { useVirtualizer, type VirtualItem } from '@tanstack/react-virtual';
import { useLayoutEffect, useRef } from 'react';
import { flushSync } from 'react-dom';
import { elementHeightOf } from './scaledScroll.ts';
import { useScaledScroll } from './useScaledScroll.ts';

/** Rows rendered above and below the visible ones. */
const OVERSCAN = 8;

export interface VirtualRows {
  /** The scrolling element, once it exists; `setScroller` is its ref. */
  scroller: HTMLDivElement | null;
  setScroller: (element: HTMLDivElement | null) => void;
  /** The height of the element inside the scroller. */
  height: number;
  /** The rows to render; `top` is the position in that element. */
  rows: { index: number; top: number }[];
  /** The first and last visible row, approximately. */
  first: number;
  last: number;
  /** Whether the list is at its beginning. */
  atTop: boolean;
  /** Scrolls a row into view by the shortest distance. */
  reveal: (index: number) => void;
  scrollTo: (index: number) => void;
  /** How many rows fit into the viewport. */
  perView: number;
}

export interface VirtualRowsOptions {
  count: number;
  rowHeight: number;
  /** A row that stays rendered: the one with the focus. */
  keep?: number;
  /** The initial position of the list; later changes are ignored. */
  startAt?: number;
}

/**
 * A list of any number of rows of equal height. TanStack Virtual selects the visible rows, ScaledScroll
 * positions them.
 */
export function useVirtualRows({ count, rowHeight, keep, startAt = 0 }: VirtualRowsOptions): VirtualRows {
  const { scroller, setScroller, scroll, place, observe, notify } = useScaledScroll(rowHeight);
  const listHeight = count * rowHeight;

  // oxlint-disable-next-line react/incompatible-library -- its functions are only called here
  const virtualizer = useVirtualizer<HTMLDivElement, HTMLDivElement>({
    count,
    getScrollElement: () => scroller,
    estimateSize: () => rowHeight,
    overscan: OVERSCAN,
    // The offset is that of the list; the element's own would be limited by its height.
    observeElementOffset: observe,
  });

  const go = (offset: number) => {
    if (!scroller) return;
    const top = scroll.goTo(offset);
    flushSync(() => notify.current?.());
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
    notify.current?.();
    scroller.scrollTop = top;
  }, [scroller, listHeight, viewport, rowHeight, startAt, scroll, notify, virtualizer]);

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

function withKept(items: VirtualItem[], keep: number | undefined, count: number): number[] {
  const indexes = items.map(({ index }) => index);
  if (keep === undefined || keep >= count || indexes.includes(keep)) return indexes;
  return [...indexes, keep].sort((left, right) => left - right);
}
