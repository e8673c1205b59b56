import { setTimeout as wait } from 'node:timers/promises';
import type { Store } from '../../store/store.ts';

/** By default, the store is idle if there was no write for this long. */
const IDLE_MS = 1_000;
/** Waiting for idleness ends after this long, because rounds of the collector may follow each other for days. */
const MAX_WAIT_MS = 15_000;

/** How many writes of any background work are under way, by store. */
const backgroundWrites = new WeakMap<object, { count: number }>();

/** Observes writes, so that background work yields to others. Writes through any monitor do not count as activity. */
export class IdleMonitor {
  readonly #store: Pick<Store, 'write' | 'writeInSteps' | 'onCommit'>;
  readonly #idleMs: number;
  #stopListening: (() => void) | undefined;
  #lastWrite = Number.NEGATIVE_INFINITY;
  readonly #background: { count: number };

  constructor(store: Pick<Store, 'write' | 'writeInSteps' | 'onCommit'>, idleMs = IDLE_MS) {
    this.#store = store;
    this.#idleMs = idleMs;
    this.#background = backgroundWrites.get(store) ?? { count: 0 };
    backgroundWrites.set(store, this.#background);
  }

  /**
   * Calls `onCommit` after each commit, until `stop`: also after those of this monitor, because a commit may carry the
   * writes of others too. Work that finds nothing to do must not write, or it would wake itself for ever.
   */
  start(onCommit: () => void): void {
    this.#stopListening = this.#store.onCommit(() => {
      if (this.#background.count === 0) this.#lastWrite = performance.now();
      onCommit();
    });
  }

  stop(): void {
    this.#stopListening?.();
  }

  /** Same as `store.write`, but does not count as activity. */
  readonly write: Store['write'] = (change, options) =>
    this.#inBackground(() => this.#store.write(change, options));

  /** Same as `store.writeInSteps`, but does not count as activity. */
  readonly writeInSteps: Store['writeInSteps'] = (change) =>
    this.#inBackground(() => this.#store.writeInSteps(change));

  async #inBackground<Result>(write: () => Promise<Result>): Promise<Result> {
    this.#background.count += 1;
    try {
      return await write();
    } finally {
      this.#background.count -= 1;
    }
  }

  /** Resolves once the store is idle, or after `MAX_WAIT_MS`. @throws AbortError. */
  async waitUntilIdle(signal: AbortSignal): Promise<void> {
    const since = performance.now();
    for (;;) {
      const now = performance.now();
      const left = Math.min(this.#lastWrite + this.#idleMs - now, since + MAX_WAIT_MS - now);
      if (left <= 0) return signal.throwIfAborted();
      await wait(left, undefined, { signal, ref: false });
    }
  }
}
