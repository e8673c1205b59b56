import type { Clock } from '../../../shared/clock.ts';
import { RetrievalFailure } from './failure.ts';

/** Made once: to make a reason for each request costs more than all else that is done here. */
const SETTLED = new Error('The work is over.');

/** A point in time at which work is given up; it can be moved on while the work makes progress. */
export class Deadline {
  readonly #clock: Clock;
  readonly #abort = new AbortController();
  readonly #settled = new AbortController();
  #at: number;

  constructor(clock: Clock, ms: number) {
    this.#clock = clock;
    this.#at = clock.now() + ms;
    void this.#watch();
  }

  /** Aborted with a `timeout` failure once the deadline has passed. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  extend(ms: number): void {
    this.#at += ms;
  }

  /** The work is over; nothing is waited for any more. */
  settle(): void {
    this.#settled.abort(SETTLED);
  }

  async #watch(): Promise<void> {
    while (!this.#settled.signal.aborted) {
      const left = this.#at - this.#clock.now();
      if (left <= 0) return this.#abort.abort(new RetrievalFailure('timeout'));
      const before = this.#clock.now();
      await this.#clock.sleep(left, this.#settled.signal);
      // A clock that is set back does not give the work more time.
      this.#at += Math.min(0, this.#clock.now() - before);
    }
  }
}
