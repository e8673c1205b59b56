/** Bytes per millisecond that keep a response alive: 10 kB per second, on average. */
const BYTES_PER_MS = 10;

/**
 * Bounds the time of one response: it must begin within the patience, and from then on bring at least 10 kB per second
 * on average. So neither a peer that stalls nor one that sends a byte now and then holds a connection for long.
 */
export class Patience {
  readonly #started = performance.now();
  readonly #patienceMs: number;
  #received = 0;
  #timer: NodeJS.Timeout;
  #onOver: () => void = () => {};
  isOver = false;

  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs;
    this.#timer = setTimeout(() => this.#check(), patienceMs);
  }

  /** Sets what is called when the time is over. */
  onEnd(end: () => void): void {
    this.#onOver = end;
  }

  received(bytes: number): void {
    this.#received += bytes;
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  #check(): void {
    const allowed = this.#patienceMs + this.#received / BYTES_PER_MS;
    const left = this.#started + allowed - performance.now();
    if (left > 0) {
      this.#timer = setTimeout(() => this.#check(), Math.ceil(left));
      return;
    }
    this.isOver = true;
    this.#onOver();
  }
}
