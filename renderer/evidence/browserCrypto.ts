import { ed25519 } from '@noble/curves/ed25519.js';
import { p256, p384, p521 } from '@noble/curves/nist.js';
import { sha1 } from '@noble/hashes/legacy.js';
import { sha256, sha384, sha512 } from '@noble/hashes/sha2.js';
import { type HashName, type ProofCrypto, UnknownAlgorithmError } from '../../shared/proof/algorithms.ts';
import { DerError, expectTag, oidOf, parseDer, TAG } from '../../shared/proof/der.ts';
import { isRsaSignature } from './rsa.ts';

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
    if (algorithm.kind === 'ed25519') return isOk(() => ed25519.verify(signature, message, key));
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
