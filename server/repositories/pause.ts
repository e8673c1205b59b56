import type { Clock } from '../../shared/values/clock.ts';

/** The longest pause that a repository gets in one import (Retry-After). Later, the import can be continued. */
const MAX_WAIT_MS = 15 * 60_000;
/** How often a repository may ask for a pause for one request. */
const MAX_ASKED = 20;

/**
 * The pauses between the attempts of one request: the configured delays, and those that the repository asks for, which do not
 * count as attempts.
 */
export class Pause {
  readonly #clock: Clock;
  readonly #delays: readonly number[];
  readonly #signal: AbortSignal;
  #next = 0;
  #asked = 0;
  #until: number | undefined;

  /** @param delays in seconds */
  constructor(clock: Clock, delays: readonly number[], signal: AbortSignal) {
    this.#clock = clock;
    this.#delays = delays;
    this.#signal = signal;
  }

  startAgain(): void {
    this.#next = 0;
  }

  /** Notes that the host answers nothing until then, in milliseconds since the epoch. */
  waitUntil(time: number): void {
    this.#until = time;
  }

  /** As `waitUntil`, if that is soon enough. Returns whether it is. */
  isPossibleUntil(time: number): boolean {
    if (time - this.#clock.now() > MAX_WAIT_MS) return false;
    this.waitUntil(time);
    return true;
  }

  /** Waits before the next attempt. Returns false if there is none. @throws the signal's reason */
  async beforeNext(): Promise<boolean> {
    const until = this.#until;
    this.#until = undefined;
    if (until !== undefined) {
      this.#asked += 1;
      const wait = until - this.#clock.now();
      if (this.#asked > MAX_ASKED || wait > MAX_WAIT_MS) return false;
      if (wait > 0) await this.#clock.sleep(wait, this.#signal);
    } else {
      const delay = this.#delays[this.#next];
      if (delay === undefined) return false;
      this.#next += 1;
      await this.#clock.sleep(delay * 1000, this.#signal);
    }
    this.#signal.throwIfAborted();
    return true;
  }
}
