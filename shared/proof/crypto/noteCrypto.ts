import { hashes, verify } from '@noble/ed25519';
import { sha256, sha512 } from '@noble/hashes/sha2.js';
import { type ProofCrypto, UnknownAlgorithmError } from './algorithms.ts';
import { isInPrimeSubgroup, isSoundKey } from './ed25519.ts';

// WebCrypto is not available to pages over plain HTTP.
hashes.sha512 = sha512;

/** A raw Ed25519 key is at the end of its SubjectPublicKeyInfo. */
const KEY_BYTES = 32;

/** The cryptography of signed notes, for pages: SHA-256 and Ed25519, in every browser. */
export const noteCrypto: ProofCrypto = {
  digest: (_, bytes) => sha256(bytes),
  verify({ kind }, publicKey, message, signature) {
    if (kind !== 'ed25519') throw new UnknownAlgorithmError(kind);
    return isEd25519Signature(publicKey.slice(-KEY_BYTES), message, signature);
  },
};

/** Verifies a signature by a raw key. It gives the same verdict as Node. */
export function isEd25519Signature(key: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    if (!isSoundKey(key) || !verify(signature, message, key, { zip215: false })) return false;
    // Node verifies without the cofactor, so the point in the signature must be in the subgroup too.
    return isInPrimeSubgroup(signature.slice(0, KEY_BYTES));
  } catch {
    // Thrown for a signature that does not encode a point.
    return false;
  }
}
