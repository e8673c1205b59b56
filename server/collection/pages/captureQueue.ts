import { inBackground } from '../../runtime/background.ts';
import type { SourceRow } from '../../store/sqlite/collection/sources.ts';
import type { CheckedDocument } from './webGate.ts';

/** A page that is to be captured, after the check of its source. */
export interface PageToCapture {
  source: SourceRow;
  retrieval: number;
  document: CheckedDocument;
}

interface QueueServices<Result> {
  /** How many captures run at once. */
  concurrency: () => number;
  /** Captures a page. Resolves to null once its signal is aborted. */
  capture: (page: PageToCapture, signal: AbortSignal) => Promise<Result | null>;
}

/** Captures pages, a few at once, in the order in which they were asked for. Of each source only one is captured at a time. */
export class CaptureQueue<Result> {
  readonly #services: QueueServices<Result>;
  /** By the key of the source. */
  readonly #running = new Map<number, Capture<Result>>();
  readonly #waiting = new Map<number, Capture<Result>>();

  constructor(services: QueueServices<Result>) {
    this.#services = services;
  }

  /**
   * Captures a page in its turn. Callers that ask for the same document while its capture runs share it; one that waits takes
   * the newest document. It is given up when the signals of all its callers are aborted.
   *
   * @param isFirst whether it goes before the captures that nobody waits for
   */
  add(page: PageToCapture, signal: AbortSignal, isFirst: boolean): Promise<Result | null> {
    const { key } = page.source;
    const running = this.#running.get(key);
    if (running && !running.isGivenUp && running.page.document.sha256 === page.document.sha256)
      return running.join(signal);
    const waiting = this.#waiting.get(key) ?? new Capture(page);
    waiting.page = page;
    waiting.isFirst ||= isFirst;
    this.#waiting.set(key, waiting);
    const captured = waiting.join(signal);
    this.startNext();
    return captured;
  }

  /** Starts the captures that may run now. Call it when `concurrency` returns more. */
  startNext(): void {
    while (this.#running.size < this.#services.concurrency()) {
      const next = this.#next();
      if (!next) return;
      const { key } = next.page.source;
      this.#waiting.delete(key);
      this.#running.set(key, next);
      inBackground(() => this.#run(key, next));
    }
  }

  /** Resolves when no capture is running or waiting. */
  async idle(): Promise<void> {
    await Promise.allSettled(
      [...this.#running.values(), ...this.#waiting.values()].map((each) => each.ended),
    );
  }

  #next(): Capture<Result> | undefined {
    const free = [...this.#waiting.values()].filter(({ page }) => !this.#running.has(page.source.key));
    return free.find(({ isFirst }) => isFirst) ?? free[0];
  }

  async #run(key: number, capture: Capture<Result>): Promise<void> {
    await capture.run((signal) => this.#services.capture(capture.page, signal));
    this.#running.delete(key);
    this.startNext();
  }
}

/** A capture that several callers may wait for. */
class Capture<Result> {
  page: PageToCapture;
  isFirst = false;
  readonly #callers = new Set<AbortSignal>();
  readonly #givenUp = new AbortController();
  /** Removes the listeners. */
  readonly #over = new AbortController();
  readonly #outcome = Promise.withResolvers<Result | null>();
  #isRunning = false;

  constructor(page: PageToCapture) {
    this.page = page;
  }

  get ended(): Promise<unknown> {
    return this.#outcome.promise;
  }

  get isGivenUp(): boolean {
    return this.#givenUp.signal.aborted;
  }

  join(caller: AbortSignal): Promise<Result | null> {
    this.#callers.add(caller);
    if (this.#isRunning) this.#listen(caller);
    return this.#outcome.promise;
  }

  async run(work: (signal: AbortSignal) => Promise<Result | null>): Promise<void> {
    this.#isRunning = true;
    // Not before: thousands of captures of a round wait with the same signal, which compares each listener with all it has.
    for (const caller of this.#callers) this.#listen(caller);
    this.#giveUpIfAlone();
    try {
      this.#outcome.resolve(await work(this.#givenUp.signal));
    } catch (error) {
      this.#outcome.reject(error);
    } finally {
      this.#over.abort();
    }
  }

  #listen(caller: AbortSignal): void {
    caller.addEventListener('abort', () => this.#giveUpIfAlone(), { signal: this.#over.signal });
  }

  #giveUpIfAlone(): void {
    if ([...this.#callers].every(({ aborted }) => aborted)) this.#givenUp.abort();
  }
}
