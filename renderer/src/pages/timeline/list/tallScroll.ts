/** Browsers cap an element's height (Firefox at about 17.8 million px) and place boxes exactly only below 2^24 px. */
const MAX_ELEMENT_PX = 8_000_000;
/** So far from either end the scroll bar is exact to the pixel, so that the ends are reached as in any list. */
const EXACT_PX = 1_000_000;
/** A leap of more than this many viewports is the scroll bar's thumb being dragged, not a wheel or a key. */
const LEAP_VIEWPORTS = 3;

/** How high the element must be that stands for a list of this height. */
export function elementHeightOf(listHeight: number): number {
  return Math.min(listHeight, MAX_ELEMENT_PX);
}

/**
 * Maps the scroll position of an element that browsers can hold to the position in a list of any height. A list that
 * fits is scrolled as it is. In a taller one wheel and keys move by the pixels they say, so that reading is smooth, and
 * the scroll bar stands for the whole list, so that its middle is the list's middle. Away from the ends the two
 * disagree a little after every move; `settle` brings them together when the scrolling rests, and nothing seen moves.
 */
export class TallScroll {
  #listHeight = 0;
  #viewport = 0;
  #top = 0;
  #offset = 0;

  /** What to take from a position in the list to get the position in the element. */
  get shift(): number {
    return this.#offset - this.#top;
  }

  /** Where the list is scrolled to. */
  get offset(): number {
    return this.#offset;
  }

  get #maxOffset(): number {
    return Math.max(0, this.#listHeight - this.#viewport);
  }

  get #maxTop(): number {
    return Math.max(0, elementHeightOf(this.#listHeight) - this.#viewport);
  }

  /** Takes new measures and answers with the scroll position that the element should have. */
  resize(listHeight: number, viewport: number): number {
    this.#listHeight = listHeight;
    this.#viewport = viewport;
    return this.goTo(this.#offset);
  }

  /** The element was scrolled to `top`. */
  scrolled(top: number): void {
    const moved = top - this.#top;
    const isLeap = Math.abs(moved) > this.#viewport * LEAP_VIEWPORTS;
    if (this.#listHeight <= MAX_ELEMENT_PX) this.#offset = top;
    else if (isLeap || top <= 0 || top >= this.#maxTop) this.#offset = this.#offsetOf(top);
    else this.#offset = clamp(this.#offset + moved, this.#maxOffset);
    this.#top = top;
  }

  /** The scrolling rests: answers with the scroll position that the element should have. */
  settle(): number {
    return this.goTo(this.#offset);
  }

  /** Goes to a position in the list; answers with the scroll position that the element should have. */
  goTo(offset: number): number {
    this.#offset = clamp(offset, this.#maxOffset);
    this.#top = Math.round(this.#mapped(this.#offset, this.#maxOffset, this.#maxTop));
    return this.#top;
  }

  #offsetOf(top: number): number {
    return this.#mapped(clamp(top, this.#maxTop), this.#maxTop, this.#maxOffset);
  }

  /** A position in a range as one in the other: the same near both ends, in proportion between. */
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
