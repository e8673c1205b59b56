import pLimit, { type LimitFunction } from 'p-limit';

/**
 * Work that anybody may ask for and that costs a thread: no more than so many at once, and who asks for what waits to be
 * begun shares it. What has begun is not shared: its result would speak of a moment before it was asked for.
 */
export class WorkCoalescer<Result> {
  readonly #limit: LimitFunction;
  readonly #waiting = new Map<string, Promise<Result>>();

  /** @param most how many run at once. */
  constructor(most: number) {
    this.#limit = pLimit(most);
  }

  /** The result of this work, begun after now. `name` is the same for the same work. */
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
