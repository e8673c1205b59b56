import { p256, p384, p521 } from '@noble/curves/nist.js';
import { sha1 } from '@noble/hashes/legacy.js';
import { sha256, sha384, sha512 } from '@noble/hashes/sha2.js';
import {
  type HashName,
  type ProofCrypto,
  UnknownAlgorithmError,
} from '../../shared/proof/crypto/algorithms.ts';
import { concat, hexOf, isSameBytes } from '../../shared/proof/crypto/bytes.ts';
import { DerError, expectTag, oidOf, parseDer, TAG } from '../../shared/proof/crypto/der.ts';
import { isEd25519Signature } from '../../shared/proof/crypto/noteCrypto.ts';

/**
 * Cryptography that a page opened from a file has in every browser, also where WebCrypto is missing because a file is no
 * secure context.
 */
export const browserCrypto: ProofCrypto = {
  digest: (hash, bytes) => HASHES[hash](bytes),
  verify(algorithm, publicKey, message, signature) {
    const [identifier, bits] = parseDer(publicKey).parts;
    // A BIT STRING begins with the number of unused bits, which is 0.
    const key = expectTag(bits, TAG.bitString, 'public key').content.subarray(1);
    if (algorithm.kind === 'ed25519') return isEd25519Signature(key, message, signature);
    if (algorithm.kind === 'rsa')
      return isRsaSignature(key, algorithm.hash, HASHES[algorithm.hash](message), signature);
    if (algorithm.kind !== 'ecdsa') throw new UnknownAlgorithmError('RSA-PSS');
    const curve = CURVES[oidOf(identifier?.parts[1], 'curve')];
    if (!curve) throw new UnknownAlgorithmError('with this curve');
    const digest = HASHES[algorithm.hash](message);
    return isOk(() => curve.verify(signature, digest, key, { prehash: false, lowS: false, format: 'der' }));
  },
};

const HASHES: Record<HashName, (bytes: Uint8Array) => Uint8Array> = { sha1, sha256, sha384, sha512 };

const CURVES: Readonly<Record<string, typeof p256>> = {
  '1.2.840.10045.3.1.7': p256,
  '1.3.132.0.34': p384,
  '1.3.132.0.35': p521,
};

/** The library throws for signatures and keys that have the wrong form. They do not match either. */
function isOk(verify: () => boolean): boolean {
  try {
    return verify();
  } catch (error) {
    if (error instanceof DerError) throw error;
    return false;
  }
}

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
function isRsaSignature(key: Uint8Array, hash: HashName, digest: Uint8Array, signature: Uint8Array): boolean {
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
