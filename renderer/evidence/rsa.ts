import type { HashName } from '../../shared/proof/algorithms.ts';
import { concat, hexOf, isSameBytes } from '../../shared/proof/bytes.ts';
import { expectTag, parseDer, TAG } from '../../shared/proof/der.ts';

/** The DER before the digest in a signature (RFC 8017, section 9.2, note 1). */
const PREFIXES: Partial<Record<HashName, string>> = {
  sha256: '3031300d060960864801650304020105000420',
  sha384: '3041300d060960864801650304020205000430',
  sha512: '3051300d060960864801650304020305000440',
};

/** More than any authority uses. Larger numbers would hold up the page. */
const MAX_MODULUS_BYTES = 2_048;

/**
 * Verifies RSASSA-PKCS1-v1_5 (RFC 8017, section 8.2.2). Only public values are computed with, so time does not matter.
 *
 * @param key an RSAPublicKey in DER
 * @throws DerError
 */
export function isRsaSignature(
  key: Uint8Array,
  hash: HashName,
  digest: Uint8Array,
  signature: Uint8Array,
): boolean {
  const [modulusPart, exponentPart] = parseDer(key).parts;
  const modulusBytes = expectTag(modulusPart, TAG.integer, 'modulus').content;
  const modulus = numberOf(modulusBytes);
  const exponent = numberOf(expectTag(exponentPart, TAG.integer, 'exponent').content);
  const length = modulusBytes[0] === 0 ? modulusBytes.length - 1 : modulusBytes.length;
  const prefix = PREFIXES[hash];
  if (prefix === undefined || length > MAX_MODULUS_BYTES || exponent > 0xffffffffn) return false;
  if (signature.length !== length || numberOf(signature) >= modulus) return false;
  const suffix = concat(bytesOf(prefix), digest);
  const padding = new Uint8Array(length - suffix.length - 3).fill(0xff);
  const expected = concat(Uint8Array.of(0, 1), padding, Uint8Array.of(0), suffix);
  const found = power(numberOf(signature), exponent, modulus)
    .toString(16)
    .padStart(2 * length, '0');
  return isSameBytes(bytesOf(found), expected);
}

function numberOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${hexOf(bytes) || '0'}`);
}

function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let [result, square] = [1n, base];
  for (let left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) result = (result * square) % modulus;
    square = (square * square) % modulus;
  }
  return result;
}
