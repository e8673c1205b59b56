import type { SettingsStore } from '../store/settings.ts';
import type { Store } from '../store/store.ts';
import type { Checkpoints } from './checkpoints.ts';
import type { Post } from './outgoing.ts';

/** What is needed to send checkpoints to other servers, on schedule and on demand. */
export interface SendingServices {
  store: Store;
  checkpoints: Checkpoints;
  settings: Pick<SettingsStore, 'current'>;
  post: Post;
  warn: (details: object, sentence: string) => void;
}

/** Work that is repeated until it is closed, and the same work on demand. */
export class RepeatedWork {
  readonly #services: Pick<SendingServices, 'store' | 'warn'>;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  constructor(services: Pick<SendingServices, 'store' | 'warn'>) {
    this.#services = services;
  }

  /** Aborted by `close`. */
  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  /** Works now and then again and again. @param failure the warning when the work fails, which does not end it */
  start(work: () => Promise<void>, everyMs: number, failure: string): void {
    void this.track(this.#repeat(work, everyMs, failure));
  }

  /** Lets `close` wait for this work. */
  track<Result>(work: Promise<Result>): Promise<Result> {
    this.#running.add(work);
    void work.catch(() => {}).finally(() => this.#running.delete(work));
    return work;
  }

  /** Ends what is running. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#running);
  }

  async #repeat(work: () => Promise<void>, everyMs: number, failure: string): Promise<void> {
    const { store, warn } = this.#services;
    while (!this.signal.aborted) {
      try {
        await work();
      } catch (error) {
        if (!this.signal.aborted) warn({ error }, failure);
      }
      await store.clock.sleep(everyMs, this.signal);
    }
  }
}
