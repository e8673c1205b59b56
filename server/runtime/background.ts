import type { Clock } from '../../shared/values/clock.ts';

/** Receives the error of work that nobody waits for. It writes a log and does not throw. */
export type OnFailure = (error: unknown) => void;

/**
 * Every timer and every piece of work that nobody awaits goes through this file: an error there has no caller, and
 * would end the process. `npm run lint` refuses `setTimeout`, `setInterval` and `setImmediate` elsewhere.
 *
 * Returns a listener or a handler that reports its error, thrown or rejected, instead of throwing it at its caller.
 */
export function guarded<Args extends unknown[]>(
  work: (...args: Args) => unknown,
  failed: OnFailure,
): (...args: Args) => void {
  return (...args) => {
    try {
      const result = work(...args);
      if (result instanceof Promise) result.catch(failed);
    } catch (error) {
      failed(error);
    }
  };
}

/** Hands an error to the last handler of the process, which logs it. For work that has no log of its own. */
export const reportUncaught: OnFailure = (error) => {
  // oxlint-disable-next-line typescript/no-floating-promises -- `handleStrayErrors` receives it.
  void Promise.reject(error);
};

/** Starts work that nobody waits for. */
export function inBackground(work: () => unknown, failed: OnFailure = reportUncaught): void {
  guarded(work, failed)();
}

/** `setInterval`; the timer goes on after an error. */
export function every(ms: number, work: () => unknown, failed = reportUncaught): NodeJS.Timeout {
  return setInterval(guarded(work, failed), ms);
}

/** `setTimeout`. */
export function after(ms: number, work: () => unknown, failed = reportUncaught): NodeJS.Timeout {
  return setTimeout(guarded(work, failed), ms);
}

/** Runs work in the next turn of the event loop. */
export function inNextTurn(work: () => unknown, failed = reportUncaught): void {
  setImmediate(guarded(work, failed));
}

/** Keeps a process alive that waits for something that does not. Returns a function that ends this. */
export function keepProcessAlive(): () => void {
  const timer = setInterval(() => {}, 2_147_483_647);
  return () => clearInterval(timer);
}

/** Lets the event loop answer requests between two steps of long work. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Work that is repeated until it is closed, and the same work on demand. */
export class RepeatedWork {
  readonly #clock: Clock;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Aborted by `close`. */
  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  /**
   * Works now and then again and again. An error is reported and does not end it.
   *
   * @param work may return the milliseconds until its next run, in place of `everyMs`
   */
  start(work: () => Promise<number | void> | number | void, everyMs: number, failed: OnFailure): void {
    inBackground(() => this.track(this.#repeat(work, everyMs, failed)), failed);
  }

  /** Lets `close` wait for this work. */
  track<Result>(work: Promise<Result>): Promise<Result> {
    this.#running.add(work);
    const ended = () => this.#running.delete(work);
    work.then(ended, ended);
    return work;
  }

  /** Ends what is running. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#running);
  }

  async #repeat(
    work: () => Promise<number | void> | number | void,
    everyMs: number,
    failed: OnFailure,
  ): Promise<void> {
    while (!this.signal.aborted) {
      let wait = everyMs;
      try {
        wait = (await work()) ?? everyMs;
      } catch (error) {
        if (!this.signal.aborted) failed(error);
      }
      await this.#clock.sleep(wait, this.signal);
    }
  }
}

/** What is done with an error that reached nobody. */
interface StrayErrorOptions {
  log: (details: object, message: string) => void;
  /** Ends the process in an orderly way. */
  end: (error: unknown) => void;
}

/**
 * The last handlers of a process. Node would end it at once, in the middle of what others do.
 *
 * A rejection that nobody handled ends one asynchronous piece of work, whose caller had gone on without it: it is
 * logged and the process goes on. A throw that reached the event loop cut through synchronous code at an unknown place, so
 * the state in memory can be wrong: it is logged and the process ends in order, and a new one reads what is durable.
 * Returns a function that removes the handlers.
 */
export function handleStrayErrors({ log, end }: StrayErrorOptions): () => void {
  const rejected = (error: unknown) =>
    log({ error }, 'Background work failed, and nothing handled its error.');
  let isEnding = false;
  const thrown = (error: unknown) => {
    log({ error }, 'An unexpected error reached the event loop. Strongroom closes the archive and stops.');
    if (isEnding) return;
    isEnding = true;
    end(error);
  };
  process.on('unhandledRejection', rejected);
  process.on('uncaughtException', thrown);
  return () => {
    process.off('unhandledRejection', rejected);
    process.off('uncaughtException', thrown);
  };
}
