/**
 * The number of received objects that may wait to be recorded. Each holds up to 64 KiB of memory. Spilling more of them
 * to files would take longer than waiting.
 */
const MAX_PENDING = 512;

/**
 * Back-pressure for fetching: counts objects that are received and not yet recorded. Requests that are already running
 * may exceed `MAX_PENDING`.
 */
export class Backlog {
  #count = 0;
  #waiting: (() => void)[] = [];

  /** Resolves when fewer than `MAX_PENDING` objects are pending. Waiters resume in the order of their calls. */
  async waitForCapacity(): Promise<void> {
    while (this.#count >= MAX_PENDING) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Adds one pending object. Returns a function that removes it; further calls have no effect. */
  add(): () => void {
    this.#count += 1;
    let isCounted = true;
    return () => {
      if (!isCounted) return;
      isCounted = false;
      this.#count -= 1;
      // Wakes all waiters: a single one might add no object and would then wake no other.
      if (this.#count < MAX_PENDING) for (const resume of this.#waiting.splice(0)) resume();
    };
  }
}
