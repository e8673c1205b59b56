import { useVirtualizer, type VirtualItem, type Virtualizer } from '@tanstack/react-virtual';
import { useLayoutEffect, useRef, useState } from 'react';
import { flushSync } from 'react-dom';

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

interface VirtualRowsOptions {
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

type ListVirtualizer = Virtualizer<HTMLDivElement, HTMLDivElement>;

/** Follows the scrolling element of a list of any height. */
function useScaledScroll(rowHeight: number) {
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

/**
 * Browsers limit an element's height (Firefox to about 17.8 million px) and position boxes exactly only below
 * 2^24 px.
 */
const MAX_ELEMENT_PX = 8_000_000;
/**
 * Within this distance from either end, the scroll bar is exact to the pixel, so that both ends can be
 * reached.
 */
const EXACT_PX = 1_000_000;
/** A jump of more than this many viewports is a drag of the scroll bar, not a wheel or a key. */
const LEAP_VIEWPORTS = 3;

/** The height of the element that represents a list of this height. */
export function elementHeightOf(listHeight: number): number {
  return Math.min(listHeight, MAX_ELEMENT_PX);
}

/**
 * Maps the scroll position of an element of limited height to the position in a list of any height. A list
 * that fits is scrolled directly. In a taller list, wheel and keys move by exact pixels, so that reading is
 * smooth, while the scroll bar represents the whole list. Away from the ends the two drift apart; `settle`
 * realigns them when scrolling stops, without moving the visible rows.
 */
export class ScaledScroll {
  #listHeight = 0;
  #viewport = 0;
  #top = 0;
  #offset = 0;

  /** The difference between the list position and the element's scroll position. */
  get shift(): number {
    return this.#offset - this.#top;
  }

  /** The position in the list. */
  get offset(): number {
    return this.#offset;
  }

  get #maxOffset(): number {
    return Math.max(0, this.#listHeight - this.#viewport);
  }

  get #maxTop(): number {
    return Math.max(0, elementHeightOf(this.#listHeight) - this.#viewport);
  }

  /** Sets new dimensions and returns the element's scroll position. */
  resize(listHeight: number, viewport: number): number {
    this.#listHeight = listHeight;
    this.#viewport = viewport;
    return this.goTo(this.#offset);
  }

  /** Handles a scroll of the element to `top`. */
  scrolled(top: number): void {
    const moved = top - this.#top;
    const isLeap = Math.abs(moved) > this.#viewport * LEAP_VIEWPORTS;
    if (this.#listHeight <= MAX_ELEMENT_PX) this.#offset = top;
    else if (isLeap || top <= 0 || top >= this.#maxTop) this.#offset = this.#offsetOf(top);
    else this.#offset = clamp(this.#offset + moved, this.#maxOffset);
    this.#top = top;
  }

  /** Realigns after scrolling has stopped, and returns the element's scroll position. */
  settle(): number {
    return this.goTo(this.#offset);
  }

  /** Scrolls to a position in the list, and returns the element's scroll position. */
  goTo(offset: number): number {
    this.#offset = clamp(offset, this.#maxOffset);
    this.#top = Math.round(this.#mapped(this.#offset, this.#maxOffset, this.#maxTop));
    return this.#top;
  }

  #offsetOf(top: number): number {
    return this.#mapped(clamp(top, this.#maxTop), this.#maxTop, this.#maxOffset);
  }

  /** Maps a position between two ranges: unchanged near both ends, proportional in between. */
  #mapped(position: number, from: number, to: number): number {
    if (this.#listHeight <= MAX_ELEMENT_PX || position <= EXACT_PX) return Math.min(position, to);
    if (from - position <= EXACT_PX) return to - (from - position);
    const share = (position - EXACT_PX) / (from - 2 * EXACT_PX);
    return EXACT_PX + share * (to - 2 * EXACT_PX);
  }
}

function clamp(value: number, max: number): number {
  return Math.min(Math.max(value, 0), max);
}
