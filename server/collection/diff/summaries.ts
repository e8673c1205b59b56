import type { Event } from '../../../shared/collection/event.ts';
import type { Log } from '../../runtime/log.ts';
import { comparableEvent } from '../../store/sqlite/collection/timeline/eventNoise.ts';
import {
  changesAfter,
  isSummarized,
  lastEventId,
  lastSummarizedEvent,
  setLastSummarizedEvent,
} from '../../store/sqlite/collection/timeline/events.ts';
import type { Store } from '../../store/store.ts';
import { IdleMonitor } from '../derived/idleMonitor.ts';
import type { Diffs } from './diffs.ts';

/** New changes looked up at a time. */
const PAGE = 50;
/** After a start, at most this many recorded events are gone through; older ones wait until they are listed. */
const MAX_BACKLOG = 5_000;
/** Listed changes that wait for their summary. The ones listed first are forgotten first. */
const MAX_WANTED = 500;
/** Changes whose bytes are damaged or missing: they are not tried again until the next start. */
const MAX_FAILED = 10_000;

/** Summarizes changes in the background, one at a time: those that were listed without one, then new ones. */
export class Summaries {
  readonly #store: Store;
  readonly #diffs: Diffs;
  readonly #log: Log;
  readonly #idleMonitor: IdleMonitor;
  readonly #closing = new AbortController();
  readonly #wanted = new Set<number>();
  readonly #failed = new Set<number>();
  #after: number;
  #running: Promise<void> | undefined;
  #isFollowing = false;

  constructor({ store, diffs, log, idleMs }: { store: Store; diffs: Diffs; log: Log; idleMs?: number }) {
    this.#store = store;
    this.#diffs = diffs;
    this.#log = log;
    this.#idleMonitor = new IdleMonitor(store, idleMs);
    this.#after = Math.max(lastSummarizedEvent(store.read), lastEventId(store.read) - MAX_BACKLOG);
  }

  /** Starts summarizing new changes. */
  startFollowing(): void {
    this.#isFollowing = true;
    this.#idleMonitor.start(() => this.#wake());
    this.#wake();
  }

  /** Asks for the summaries of listed events that have none. Does not wait for them. */
  want(events: readonly Event[]): void {
    const missing = events.filter(
      ({ id, event_type, sha256, previous_sha256, summary }) =>
        summary === null && event_type === 'changed' && sha256 && previous_sha256 && !this.#failed.has(id),
    );
    // Lists begin with the newest event; what is wanted last is made first.
    for (const { id } of missing.toReversed()) {
      this.#wanted.delete(id);
      this.#wanted.add(id);
    }
    for (const oldest of this.#wanted) {
      if (this.#wanted.size <= MAX_WANTED) break;
      this.#wanted.delete(oldest);
    }
    if (missing.length > 0) this.#wake();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#idleMonitor.stop();
    await this.#running;
  }

  #wake(): void {
    if (this.#closing.signal.aborted) return;
    this.#running ??= this.#run()
      .finally(() => {
        this.#running = undefined;
        // What came between the last look and now.
        if (this.#hasWork()) this.#wake();
      })
      .catch((error: unknown) => this.#log.error({ error }, 'Changes could not be summarized'));
  }

  #hasWork(): boolean {
    if (this.#closing.signal.aborted || !this.#store.read.open) return false;
    return this.#wanted.size > 0 || (this.#isFollowing && this.#after < lastEventId(this.#store.read));
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    try {
      while (this.#hasWork()) {
        await this.#makeWanted(signal);
        if (this.#isFollowing && this.#after < lastEventId(this.#store.read)) await this.#makeNew(signal);
      }
    } catch (error) {
      if (signal.aborted) return;
      this.#log.error({ error }, 'Changes could not be summarized');
      this.#wanted.clear();
      this.#after = lastEventId(this.#store.read);
    }
  }

  async #makeWanted(signal: AbortSignal): Promise<void> {
    for (;;) {
      const id = [...this.#wanted].at(-1);
      if (id === undefined) return;
      this.#wanted.delete(id);
      await this.#summarize(id, signal);
    }
  }

  async #makeNew(signal: AbortSignal): Promise<void> {
    await this.#idleMonitor.waitUntilIdle(signal);
    const last = lastEventId(this.#store.read);
    const page = changesAfter(this.#store.read, this.#after, PAGE);
    for (const id of page) {
      await this.#makeWanted(signal);
      await this.#summarize(id, signal);
    }
    this.#after = page.length < PAGE ? last : (page.at(-1) ?? last);
    const until = this.#after;
    await this.#idleMonitor.write((database) => setLastSummarizedEvent(database, until));
  }

  async #summarize(id: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const event = comparableEvent(this.#store.read, id);
    if (!event || isSummarized(this.#store.read, event)) return;
    if (await this.#diffs.summarize(event, this.#idleMonitor.write)) return;
    if (this.#failed.size < MAX_FAILED) this.#failed.add(id);
  }
}
