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
