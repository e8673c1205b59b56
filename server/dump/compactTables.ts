import { instantOf } from '../../shared/values/clock.ts';

/* What is kept of the lines of a dump while it is read. A dump may hold millions, so a row takes a few bytes. */

/** A compact map from ascending numbers to numbers: 16 bytes per entry. */
export class NumberTable {
  #keys = new Float64Array(1_024);
  #values = new Float64Array(1_024);
  size = 0;

  get last(): number {
    return this.size === 0 ? 0 : (this.#keys[this.size - 1] ?? 0);
  }

  /** @param key larger than the last one. */
  append(key: number, value: number): void {
    if (this.size === this.#keys.length) {
      this.#keys = twice(this.#keys);
      this.#values = twice(this.#values);
    }
    this.#keys[this.size] = key;
    this.#values[this.size] = value;
    this.size += 1;
  }

  get(key: number): number | undefined {
    let [from, to] = [0, this.size];
    while (from < to) {
      const middle = Math.floor((from + to) / 2);
      if ((this.#keys[middle] ?? 0) < key) from = middle + 1;
      else to = middle;
    }
    return from < this.size && this.#keys[from] === key ? this.#values[from] : undefined;
  }
}

/** An event, as later lines are compared with it. */
export interface DumpedEvent {
  source_key: number;
  sha256: string | null;
  observed_at: string;
}

const DIGEST_BYTES = 32;
/** What stands for no digest. Nothing has it. */
const NONE = '0'.repeat(2 * DIGEST_BYTES);

/** The events, which are numbered from 1: 48 bytes per event. */
export class EventTable {
  #sources = new Float64Array(1_024);
  #times = new Float64Array(1_024);
  #digests = Buffer.alloc(DIGEST_BYTES * 1_024);
  size = 0;

  append({ source_key, sha256, observed_at }: DumpedEvent): void {
    if (this.size === this.#sources.length) {
      this.#sources = twice(this.#sources);
      this.#times = twice(this.#times);
      this.#digests = Buffer.concat([this.#digests, Buffer.alloc(this.#digests.length)]);
    }
    this.#sources[this.size] = source_key;
    this.#times[this.size] = Date.parse(observed_at);
    this.#digests.write(sha256 ?? NONE, this.size * DIGEST_BYTES, 'hex');
    this.size += 1;
  }

  get(id: number): DumpedEvent | undefined {
    if (id < 1 || id > this.size) return undefined;
    const sha256 = this.#digests.toString('hex', (id - 1) * DIGEST_BYTES, id * DIGEST_BYTES);
    return {
      source_key: this.#sources[id - 1] ?? 0,
      sha256: sha256 === NONE ? null : sha256,
      observed_at: instantOf(this.#times[id - 1] ?? 0),
    };
  }
}

function twice(numbers: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(numbers.length * 2);
  larger.set(numbers);
  return larger;
}
