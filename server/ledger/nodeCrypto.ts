import { constants, createHash, createPublicKey, verify } from 'node:crypto';
import type { ProofCrypto } from '../../shared/proof/algorithms.ts';

/** Node's cryptography, for the verification of proofs. */
export const nodeCrypto: ProofCrypto = {
  digest: (hash, bytes) => createHash(hash).update(bytes).digest(),
  verify(algorithm, publicKey, message, signature) {
    let key: ReturnType<typeof createPublicKey>;
    try {
      key = createPublicKey({ key: Buffer.from(publicKey), format: 'der', type: 'spki' });
    } catch {
      // A key that cannot be read has signed nothing.
      return false;
    }
    const kind = { rsa: 'rsa', 'rsa-pss': 'rsa', ecdsa: 'ec', ed25519: 'ed25519' }[algorithm.kind];
    if (key.asymmetricKeyType !== kind && !(kind === 'rsa' && key.asymmetricKeyType === 'rsa-pss'))
      return false;
    if (algorithm.kind === 'ed25519') return verify(null, message, key, signature);
    if (algorithm.kind !== 'rsa-pss') return verify(algorithm.hash, message, key, signature);
    const { hash, saltLength } = algorithm;
    return verify(hash, message, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength }, signature);
  },
};
