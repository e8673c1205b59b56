import { createHash, type Hash } from 'node:crypto';

/** A digest that a record states of itself (WARC-Block-Digest, WARC-Payload-Digest): `sha1:<base32>` and its like. */
export interface StatedDigest {
  algorithm: string;
  /** In lowercase hex; null where it cannot be one of its algorithm, so that nothing matches it. */
  hex: string | null;
}

/** By the name that records use, without its hyphens: what Node calls it, and how many bytes it has. */
const ALGORITHMS: Readonly<Record<string, number>> = {
  md5: 16,
  sha1: 20,
  sha256: 32,
  sha384: 48,
  sha512: 64,
};
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

/** Reads a stated digest in hex or base32 (RFC 4648); undefined where there is none, or of an algorithm that is not known. */
export function parseStatedDigest(field: string | undefined): StatedDigest | undefined {
  const [, name = '', value = ''] = /^\s*([\w-]+):(\S+)\s*$/.exec(field ?? '') ?? [];
  const algorithm = name.toLowerCase().replace('-', '');
  const bytes = Object.hasOwn(ALGORITHMS, algorithm) ? ALGORITHMS[algorithm] : undefined;
  return bytes === undefined ? undefined : { algorithm, hex: toHex(value.toLowerCase(), bytes) };
}

function toHex(value: string, bytes: number): string | null {
  if (value.length === 2 * bytes && /^[0-9a-f]+$/.test(value)) return value;
  // Longer than any padding makes it: a pattern for what stands at the end would take the square of its length.
  if (value.length > 4 * bytes) return null;
  const digits = value.replace(/=+$/, '');
  if (digits.length !== Math.ceil((bytes * 8) / 5) || !/^[a-z2-7]+$/.test(digits)) return null;
  let hex = '';
  let bits = 0;
  let held = 0;
  for (const digit of digits) {
    held = (held << 5) | BASE32.indexOf(digit);
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    hex += ((held >> bits) & 0xff).toString(16).padStart(2, '0');
    held &= (1 << bits) - 1;
  }
  return hex;
}

/** One digest as text, the form in which captures are found by it. */
export function formatDigest({ algorithm, hex }: StatedDigest): string | null {
  return hex === null ? null : `${algorithm}:${hex}`;
}

/** Bytes that are hashed on their way, where anything is stated of them. */
export class DigestVerifier {
  readonly #stated: StatedDigest | undefined;
  readonly #hash: Hash | undefined;

  constructor(stated: StatedDigest | undefined) {
    this.#stated = stated;
    this.#hash = stated && createHash(stated.algorithm);
  }

  through(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    return this.#hash ? hashing(chunks, this.#hash) : chunks;
  }

  /** Whether the bytes have the stated digest; asked once, when all have passed. True where none is stated. */
  matches(): boolean {
    return this.#hash === undefined || this.#hash.digest('hex') === this.#stated?.hex;
  }
}

async function* hashing(
  chunks: AsyncIterable<Uint8Array>,
  hash: Hash,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
}
