import type { Clock } from '../../../shared/values/clock.ts';
import { RetrievalFailure } from './failure.ts';

/** Shared by all deadlines, because creating an Error for each request is expensive. */
const SETTLED = new Error('The work is over.');

/** A timeout that can be extended while the work makes progress. */
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

  /** Aborts with a `timeout` failure when the deadline passes. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  extend(ms: number): void {
    this.#at += ms;
  }

  /** Cancels the timer. Call it when the work is over. */
  settle(): void {
    this.#settled.abort(SETTLED);
  }

  async #watch(): Promise<void> {
    while (!this.#settled.signal.aborted) {
      const left = this.#at - this.#clock.now();
      if (left <= 0) return this.#abort.abort(new RetrievalFailure('timeout'));
      const before = this.#clock.now();
      await this.#clock.sleep(left, this.#settled.signal);
      // If the clock is set back, the deadline moves back with it.
      this.#at += Math.min(0, this.#clock.now() - before);
    }
  }
}
