/** Calls a function after some milliseconds, unless the returned function is called before. */
export type Timer = (ms: number, over: () => void) => () => void;

export const systemTimer: Timer = (ms, over) => {
  const timer = setTimeout(over, ms);
  return () => clearTimeout(timer);
};

/** How long a peer may take to begin a response, in milliseconds. */
const BEGIN_WITHIN_MS = 30_000;
/** Bytes per millisecond that keep a response alive: 10 kB per second, on average. */
const BYTES_PER_MS = 10;

/**
 * Bounds the time of one response: it must begin within 30 seconds, and from then on bring at least 10 kB per second on
 * average. So neither a peer that stalls nor one that sends a byte now and then holds a connection for long.
 */
export class ResponseDeadline {
  readonly #timer: Timer;
  #waited = 0;
  #received = 0;
  #cancel: () => void;
  #onOver: () => void = () => {};
  isOver = false;

  constructor(timer: Timer) {
    this.#timer = timer;
    this.#cancel = this.#wait(BEGIN_WITHIN_MS);
  }

  /** Sets what is called when the time is over. */
  onEnd(end: () => void): void {
    this.#onOver = end;
  }

  received(bytes: number): void {
    this.#received += bytes;
  }

  end(): void {
    this.#cancel();
  }

  #wait(ms: number): () => void {
    return this.#timer(ms, () => {
      this.#waited += ms;
      const left = BEGIN_WITHIN_MS + this.#received / BYTES_PER_MS - this.#waited;
      if (left > 0) {
        this.#cancel = this.#wait(Math.ceil(left));
        return;
      }
      this.isOver = true;
      this.#onOver();
    });
  }
}
