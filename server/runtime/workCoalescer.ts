import pLimit, { type LimitFunction } from 'p-limit';

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
