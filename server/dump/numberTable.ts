/** A compact map from ascending numbers to numbers: 16 bytes per entry, because a dump may hold millions. */
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

function twice(numbers: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(numbers.length * 2);
  larger.set(numbers);
  return larger;
}
