import type { LimitFunction } from 'p-limit';
import pLimit from 'p-limit';

/**
 * Works on items that are taken from an iterator one after another, several at once. No more of them are in memory.
 *
 * @throws the first error, once no work is running any more; no further item is taken then
 */
export async function inParallel<Item>(
  items: Iterable<Item>,
  concurrency: number,
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  let failure: { error: unknown } | undefined;
  const takeItems = async () => {
    try {
      for (let next = iterator.next(); !failure && !next.done; next = iterator.next()) await work(next.value);
    } catch (error) {
      failure ??= { error };
    }
  };
  await Promise.all(Array.from({ length: concurrency }, takeItems));
  iterator.return?.();
  if (failure) throw failure.error;
}

/** Waits for work, but not once the signal is aborted: the work may hang. @throws the signal's reason */
export async function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/**
 * Returns the result of work that all share who ask for it by the same key. A failure is not kept, and of the results
 * only those that were asked for last.
 */
export function once<Key, Result>(
  known: Map<Key, Promise<Result>>,
  key: Key,
  work: () => Promise<Result>,
  most = Number.POSITIVE_INFINITY,
): Promise<Result> {
  const result = known.get(key) ?? work();
  known.delete(key);
  known.set(key, result);
  result.catch(() => known.get(key) === result && known.delete(key));
  const [oldest] = known.keys();
  if (known.size > most && oldest !== undefined) known.delete(oldest);
  return result;
}

/**
 * Limits and combines expensive work that any visitor may request. Requests for the same work share one run as long as
 * it has not begun. A run that has begun is not shared, because its result could be older than the request.
 */
export class WorkCoalescer<Result> {
  readonly #limit: LimitFunction;
  readonly #waiting = new Map<string, Promise<Result>>();

  /** @param most the number of concurrent runs. */
  constructor(most: number) {
    this.#limit = pLimit(most);
  }

  /** Resolves with the result of a run that begins after this call. `name` identifies the work. */
  run(name: string, work: () => Promise<Result>): Promise<Result> {
    const waiting = this.#waiting.get(name);
    if (waiting) return waiting;
    const result = this.#limit(() => {
      this.#waiting.delete(name);
      return work();
    });
    this.#waiting.set(name, result);
    return result;
  }
}
