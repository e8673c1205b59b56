'use strict';
/* SHA-256 (FIPS 180-4) of a stream. WebCrypto has no streams, and is missing on pages without HTTPS. */

const primesUpTo = (/** @type {number} */ count) => {
  /** @type {number[]} */
  const primes = [];
  for (let number = 2; primes.length < count; number += 1)
    if (primes.every((prime) => number % prime !== 0)) primes.push(number);
  return primes;
};
/** The first 32 bits of the fractional part. @param {number} value */
const fraction = (value) => ((value - Math.floor(value)) * 2 ** 32) | 0;
const SHA256_ROUNDS = Int32Array.from(primesUpTo(64), (prime) => fraction(Math.cbrt(prime)));
const SHA256_START = Int32Array.from(primesUpTo(8), (prime) => fraction(Math.sqrt(prime)));

class Sha256 {
  #state = SHA256_START.slice();
  #words = new Int32Array(64);
  #block = new Uint8Array(64);
  #filled = 0;
  #length = 0;

  /** @param {Uint8Array} bytes */
  update(bytes) {
    this.#length += bytes.length;
    let at = 0;
    while (at < bytes.length) {
      if (this.#filled === 0 && bytes.length - at >= 64) {
        this.#hashBlock(bytes, at);
        at += 64;
        continue;
      }
      const part = bytes.subarray(at, at + 64 - this.#filled);
      this.#block.set(part, this.#filled);
      this.#filled += part.length;
      at += part.length;
      if (this.#filled < 64) break;
      this.#hashBlock(this.#block, 0);
      this.#filled = 0;
    }
    return this;
  }

  /** @returns {Uint8Array} */
  digest() {
    const length = this.#length;
    const end = new Uint8Array((this.#filled < 56 ? 64 : 128) - this.#filled);
    end[0] = 0x80;
    const view = new DataView(end.buffer);
    view.setUint32(end.length - 8, Math.floor(length / 2 ** 29));
    view.setUint32(end.length - 4, (length * 8) % 2 ** 32);
    this.update(end);
    const digest = new DataView(new ArrayBuffer(32));
    this.#state.forEach((word, index) => digest.setInt32(index * 4, word));
    return new Uint8Array(digest.buffer);
  }

  /** @param {Uint8Array} bytes @param {number} at */
  #hashBlock(bytes, at) {
    const words = this.#words;
    const word = (/** @type {number} */ index) => words[index] ?? 0;
    for (let index = 0; index < 16; index += 1, at += 4)
      words[index] =
        ((bytes[at] ?? 0) << 24) |
        ((bytes[at + 1] ?? 0) << 16) |
        ((bytes[at + 2] ?? 0) << 8) |
        (bytes[at + 3] ?? 0);
    for (let index = 16; index < 64; index += 1) {
      const [x, y] = [word(index - 15), word(index - 2)];
      const small0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const small1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      words[index] = (word(index - 16) + small0 + word(index - 7) + small1) | 0;
    }
    this.#mix(words);
  }

  /** @param {Int32Array} words */
  #mix(words) {
    const state = this.#state;
    let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
    for (let round = 0; round < 64; round += 1) {
      const big1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const first = (h + big1 + ((e & f) ^ (~e & g)) + (SHA256_ROUNDS[round] ?? 0) + (words[round] ?? 0)) | 0;
      const big0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const second = (big0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((value, index) => {
      state[index] = ((state[index] ?? 0) + value) | 0;
    });
  }
}

// The other scripts of a page use it.
Object.assign(globalThis, { Sha256 });
