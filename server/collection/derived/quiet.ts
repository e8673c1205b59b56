import { setTimeout as wait } from 'node:timers/promises';
import type { Store } from '../../store/store.ts';

/** It is quiet once nobody has written for so long. */
const QUIET_MS = 1_000;
/** But nobody waits longer than this for it: rounds of the collector may follow each other for days. */
const PATIENCE_MS = 15_000;

/** Tells when others write, so that work which can wait lets them go first. What is written through it is not others'. */
export class IdleMonitor {
  readonly #store: Pick<Store, 'write' | 'onCommit'>;
  #stopListening: (() => void) | undefined;
  #lastWrite = Number.NEGATIVE_INFINITY;
  #writing = 0;

  constructor(store: Pick<Store, 'write' | 'onCommit'>) {
    this.#store = store;
  }

  /** Calls `onOthersWrote` after each commit of others, until `stop`. */
  start(onOthersWrote: () => void): void {
    this.#stopListening = this.#store.onCommit(() => {
      if (this.#writing > 0) return;
      this.#lastWrite = performance.now();
      onOthersWrote();
    });
  }

  stop(): void {
    this.#stopListening?.();
  }

  /** As `store.write`, and disturbs nobody. */
  readonly write: Store['write'] = async (change) => {
    this.#writing += 1;
    try {
      return await this.#store.write(change);
    } finally {
      this.#writing -= 1;
    }
  };

  /** Resolves once it is quiet, or has not been for long enough. @throws AbortError. */
  async reached(signal: AbortSignal): Promise<void> {
    const since = performance.now();
    for (;;) {
      const now = performance.now();
      const left = Math.min(this.#lastWrite + QUIET_MS - now, since + PATIENCE_MS - now);
      if (left <= 0) return signal.throwIfAborted();
      await wait(left, undefined, { signal, ref: false });
    }
  }
}
