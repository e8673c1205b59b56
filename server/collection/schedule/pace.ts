/** So many requests are under way at first, and at the least: what runs for the first time is slow. */
const FEWEST = 4;
/** How many more there may be after each look at a loop that was free. */
const MORE = 2;
const LOOK_EVERY_MS = 10;
/** Held for longer than this, the event loop is taken for free no more; and from here on for held too long. */
const FREE_MS = 7;
const TOO_LONG_MS = 14;

/** Tells, again and again, for how long the event loop was held since it was last told; gives back how to stop that. */
export type EventLoopMonitor = (tell: (heldMs: number) => void) => () => void;

/**
 * How many requests may be under way at once, so that whoever reads is answered while a round runs. What an answer
 * brings is dealt with on the event loop: the more come at once, the longer everything else waits. So a round begins
 * with a few, takes more as long as the loop is free, and halves them when it was held, as TCP finds out what a network
 * bears (RFC 5681, section 3.1). With sites that take their time, that is soon all that the settings allow.
 */
export class Pace {
  readonly #onMore: () => void;
  readonly #watch: EventLoopMonitor;
  #stopWatching: (() => void) | undefined;
  #room = FEWEST;
  #underWay = 0;
  /** Whether a request waits that the settings would allow. */
  #isShort = false;

  /** @param onMore called when there is room again for who found none: where all that is under way takes long, nothing else would tell. */
  constructor(onMore: () => void, watch: EventLoopMonitor = watchLoop) {
    this.#onMore = onMore;
    this.#watch = watch;
  }

  /** Whether another request may begin, where the settings allow so many at once. */
  hasRoom(most: number): boolean {
    this.#room = Math.min(this.#room, Math.max(most, FEWEST));
    this.#isShort = this.#underWay >= this.#room && this.#underWay < most;
    return this.#underWay < Math.min(this.#room, most);
  }

  begun(): void {
    this.#underWay += 1;
    this.#stopWatching ??= this.#watch((heldMs) => this.#adapt(heldMs));
  }

  ended(): void {
    this.#underWay -= 1;
    if (this.#underWay > 0) return;
    this.#stopWatching?.();
    this.#stopWatching = undefined;
  }

  #adapt(heldMs: number): void {
    if (heldMs > TOO_LONG_MS) this.#room = Math.max(FEWEST, this.#room >> 1);
    if (heldMs >= FREE_MS) return;
    this.#room += MORE;
    if (this.#isShort) this.#onMore();
  }
}

/** A timer fires late by as long as the loop was held. */
function watchLoop(tell: (heldMs: number) => void): () => void {
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    tell(now - last - LOOK_EVERY_MS);
    last = now;
  }, LOOK_EVERY_MS);
  return () => clearInterval(timer);
}
