/** The initial and minimum limit. It is low because the first requests run before the code is optimized. */
const MIN_LIMIT = 4;
/** The increase after each interval in which the event loop was responsive. */
const INCREASE = 2;
const INTERVAL_MS = 10;
/** A delay of the event loop below which the limit grows. */
const RESPONSIVE_MS = 7;
/** A delay of the event loop above which the limit is halved. */
const BLOCKED_MS = 14;

/** Reports the delay of the event loop again and again. Returns a function that stops the reports. */
export type EventLoopMonitor = (report: (delayMs: number) => void) => () => void;

/**
 * Limits the number of concurrent requests so that the node stays responsive during a round. Responses are processed on
 * the event loop, so many at once delay everything else. The limit starts low, grows while the event loop is responsive
 * and is halved when it was blocked, like TCP congestion control (RFC 5681, section 3.1). With slow sites it soon
 * reaches the limit of the settings.
 */
export class AdaptiveConcurrency {
  readonly #onCapacity: () => void;
  readonly #watch: EventLoopMonitor;
  #stopWatching: (() => void) | undefined;
  #limit = MIN_LIMIT;
  #running = 0;
  /** Whether a request waits that the settings would allow. */
  #isLimiting = false;

  /** @param onCapacity called when the limit has grown and a request was refused before. */
  constructor(onCapacity: () => void, watch: EventLoopMonitor = watchEventLoop) {
    this.#onCapacity = onCapacity;
    this.#watch = watch;
  }

  /** Returns whether another request may start. `max` is the limit of the settings. */
  hasCapacity(max: number): boolean {
    this.#limit = Math.min(this.#limit, Math.max(max, MIN_LIMIT));
    this.#isLimiting = this.#running >= this.#limit && this.#running < max;
    return this.#running < Math.min(this.#limit, max);
  }

  /** Call it when a request starts. */
  onStart(): void {
    this.#running += 1;
    this.#stopWatching ??= this.#watch((delayMs) => this.#adapt(delayMs));
  }

  /** Call it when a request ends. */
  onEnd(): void {
    this.#running -= 1;
    if (this.#running > 0) return;
    this.#stopWatching?.();
    this.#stopWatching = undefined;
  }

  #adapt(delayMs: number): void {
    if (delayMs > BLOCKED_MS) this.#limit = Math.max(MIN_LIMIT, this.#limit >> 1);
    if (delayMs >= RESPONSIVE_MS) return;
    this.#limit += INCREASE;
    if (this.#isLimiting) this.#onCapacity();
  }
}

/** Measures by how much an interval timer is late. */
function watchEventLoop(report: (delayMs: number) => void): () => void {
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    report(now - last - INTERVAL_MS);
    last = now;
  }, INTERVAL_MS);
  return () => clearInterval(timer);
}
