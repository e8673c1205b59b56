import { type Clock, systemClock } from '../../shared/values/clock.ts';

/** Who sleeps longer than this waits until a step moves the clock. */
const LONGEST_NAP_MS = 30_000;
/** How long a nap takes in real time at most. */
const NAP_MS = 100;

/** A clock that moves with the steps of a simulation. Pauses between attempts take no time; schedules wait for a step. */
export class SimulatedClock implements Clock {
  #now: number;
  readonly #sleepers = new Set<{ wakeAt: number; wake: () => void }>();

  constructor(start: number) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  /** Moves the clock by so many milliseconds, also backwards. */
  move(ms: number): void {
    this.#now += ms;
    for (const sleeper of this.#sleepers) if (sleeper.wakeAt <= this.#now) sleeper.wake();
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return;
    const wakeAt = this.#now + ms;
    if (ms <= LONGEST_NAP_MS) {
      await systemClock.sleep(Math.min(ms, NAP_MS), signal);
      this.#now = Math.max(this.#now, Math.min(wakeAt, this.#now + ms));
      return;
    }
    await new Promise<void>((resolve) => {
      const wake = () => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const sleeper = { wakeAt, wake };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', wake, { once: true });
    });
  }
}
