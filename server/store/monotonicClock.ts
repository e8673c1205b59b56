import { type Clock, instantOf } from '../../shared/clock.ts';

/** A clock that is set right by less than this is nothing to be told of. */
const TOLD_FROM_MS = 1_000;

/**
 * Instants that never go back, whatever the machine's clock does: none is before the one before it, or before the last
 * that the ledger holds. A clock that is behind is told once.
 */
export class MonotonicClock {
  readonly #clock: Clock;
  readonly #tellBehind: (behindMs: number) => void;
  #latest: number;
  #isTold = false;

  /** @param latest the last instant that is recorded, if any. */
  constructor(clock: Clock, latest: string | undefined, tellBehind: (behindMs: number) => void) {
    this.#clock = clock;
    this.#latest = latest === undefined ? 0 : Date.parse(latest);
    this.#tellBehind = tellBehind;
  }

  /** Now, as answers and rows write it; the latest instant there is, where the clock is behind that. */
  instant(): string {
    const now = this.#clock.now();
    if (now >= this.#latest) {
      this.#latest = now;
      this.#isTold = false;
    } else if (!this.#isTold && this.#latest - now >= TOLD_FROM_MS) {
      this.#isTold = true;
      this.#tellBehind(this.#latest - now);
    }
    return instantOf(this.#latest);
  }

  /** How far the clock is behind what is recorded: 0 where it is not. */
  get behindMs(): number {
    const behind = this.#latest - this.#clock.now();
    return behind >= TOLD_FROM_MS ? behind : 0;
  }
}
