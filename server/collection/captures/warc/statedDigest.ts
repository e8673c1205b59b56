import { createHash, type Hash } from 'node:crypto';

/** A digest stated in a record (WARC-Block-Digest, WARC-Payload-Digest), for example `sha1:<base32>`. */
export interface StatedDigest {
  algorithm: string;
  /** In lowercase hex; null if the value is too short for the algorithm, so that nothing matches it. */
  hex: string | null;
}

/** Digest lengths in bytes, by algorithm name without hyphens. */
const ALGORITHMS: Readonly<Record<string, number>> = {
  md5: 16,
  sha1: 20,
  sha256: 32,
  sha384: 48,
  sha512: 64,
};
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

/**
 * Parses a stated digest in hex, base32 or base64 (RFC 4648); undefined if there is none, or its algorithm or form is
 * unknown: then it is not compared, because it may be right.
 */
export function parseStatedDigest(field: string | undefined): StatedDigest | undefined {
  const [, name = '', value = ''] = /^\s*([\w-]+):(\S+)\s*$/.exec(field ?? '') ?? [];
  const algorithm = name.toLowerCase().replace('-', '');
  const bytes = Object.hasOwn(ALGORITHMS, algorithm) ? ALGORITHMS[algorithm] : undefined;
  const hex = bytes === undefined ? undefined : toHex(value, bytes);
  return hex === undefined ? undefined : { algorithm, hex };
}

function toHex(value: string, bytes: number): string | null | undefined {
  // No form is shorter than base64.
  if (value.length < Math.ceil((bytes * 8) / 6)) return null;
  // Longer than any padding makes it. The patterns below take quadratic time on long values.
  if (value.length > 4 * bytes) return undefined;
  if (value.length === 2 * bytes && /^[0-9a-f]+$/i.test(value)) return value.toLowerCase();
  const plain = value.replace(/=+$/, '');
  if (plain.length === Math.ceil((bytes * 8) / 6) && /^[\w+/-]+$/.test(plain))
    return Buffer.from(plain, 'base64').toString('hex');
  const digits = plain.toLowerCase();
  if (digits.length !== Math.ceil((bytes * 8) / 5) || !/^[a-z2-7]+$/.test(digits)) return undefined;
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

/** Formats a digest as `algorithm:hex`, the form in which captures are looked up. */
export function formatDigest({ algorithm, hex }: StatedDigest): string | null {
  return hex === null ? null : `${algorithm}:${hex}`;
}

/** Whether a stated digest is that of no bytes at all. */
export function isDigestOfNothing(stated: StatedDigest | undefined): boolean {
  return stated !== undefined && createHash(stated.algorithm).digest('hex') === stated.hex;
}

/** Hashes bytes as they pass and compares them with a stated digest, if there is one. */
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

  /** Returns whether the bytes match the stated digest; true if none is stated. Call once, after all bytes passed. */
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
