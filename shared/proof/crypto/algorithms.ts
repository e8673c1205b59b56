import { DerError, type DerValue, expectTag, integerHexOf, oidOf, TAG, tagged } from './der.ts';

export type HashName = 'sha1' | 'sha256' | 'sha384' | 'sha512';

/** How a signature is made. */
export type SignatureAlgorithm =
  | { kind: 'rsa'; hash: HashName }
  | { kind: 'rsa-pss'; hash: HashName; saltLength: number }
  | { kind: 'ecdsa'; hash: HashName }
  | { kind: 'ed25519' };

/** The cryptography that proofs need: Node's in the node, a bundled one in evidence files. */
export interface ProofCrypto {
  digest(hash: HashName, bytes: Uint8Array): Uint8Array;
  /**
   * Verifies a signature. `publicKey` is a SubjectPublicKeyInfo in DER; ECDSA signatures are in DER.
   *
   * @throws UnknownAlgorithmError if this implementation lacks the algorithm
   */
  verify(
    algorithm: SignatureAlgorithm,
    publicKey: Uint8Array,
    message: Uint8Array,
    signature: Uint8Array,
  ): boolean;
}

/** A signature or hash of a kind that is not supported here. It is neither valid nor invalid. */
export class UnknownAlgorithmError extends Error {
  constructor(name: string) {
    super(`The algorithm ${name} is not supported here.`);
    this.name = 'UnknownAlgorithmError';
  }
}

const HASHES: Readonly<Record<string, HashName>> = {
  '1.3.14.3.2.26': 'sha1',
  '2.16.840.1.101.3.4.2.1': 'sha256',
  '2.16.840.1.101.3.4.2.2': 'sha384',
  '2.16.840.1.101.3.4.2.3': 'sha512',
};

/** An AlgorithmIdentifier has a name, and perhaps parameters. */
function identifierParts(identifier: DerValue | undefined, what: string): readonly DerValue[] {
  const { parts } = expectTag(identifier, TAG.sequence, what);
  if (parts.length > 2) throw new DerError(`Its ${what} has a part too many.`);
  return parts;
}

const NULL = 5;

/** RFC 5754: left out, or NULL. @throws DerError */
function requireNoParameters(parameters: DerValue | undefined, what: string): void {
  const isNull =
    parameters?.tagClass === 'universal' && parameters.tag === NULL && parameters.encoding.length === 2;
  if (parameters && !isNull) throw new DerError(`Its ${what} has parameters.`);
}

/** Returns the hash that an AlgorithmIdentifier names. @throws DerError, UnknownAlgorithmError */
export function hashOfIdentifier(identifier: DerValue | undefined, what: string): HashName {
  const [name, parameters] = identifierParts(identifier, what);
  const oid = oidOf(name, what);
  requireNoParameters(parameters, what);
  const hash = HASHES[oid];
  if (hash === undefined) throw new UnknownAlgorithmError(oid);
  return hash;
}

const SIGNATURES: Readonly<Record<string, SignatureAlgorithm>> = {
  '1.2.840.113549.1.1.11': { kind: 'rsa', hash: 'sha256' },
  '1.2.840.113549.1.1.12': { kind: 'rsa', hash: 'sha384' },
  '1.2.840.113549.1.1.13': { kind: 'rsa', hash: 'sha512' },
  '1.2.840.10045.4.3.2': { kind: 'ecdsa', hash: 'sha256' },
  '1.2.840.10045.4.3.3': { kind: 'ecdsa', hash: 'sha384' },
  '1.2.840.10045.4.3.4': { kind: 'ecdsa', hash: 'sha512' },
  '1.3.101.112': { kind: 'ed25519' },
};
const RSA = '1.2.840.113549.1.1.1';
const RSA_PSS = '1.2.840.113549.1.1.10';

/**
 * Returns the algorithm of a signature. `digest` is the hash that the signer names beside it, for identifiers that name
 * none. SHA-1 is refused: it no longer proves anything.
 *
 * @throws DerError, UnknownAlgorithmError
 */
export function signatureAlgorithmOf(identifier: DerValue, digest: HashName): SignatureAlgorithm {
  const oid = oidOf(identifierParts(identifier, 'signature algorithm')[0], 'signature algorithm');
  if (oid === RSA && digest !== 'sha1') {
    requireNoParameters(identifier.parts[1], 'signature algorithm');
    return { kind: 'rsa', hash: digest };
  }
  if (oid === RSA_PSS) return pssOf(identifier.parts[1]);
  requireNoParameters(identifier.parts[1], 'signature algorithm');
  const known = SIGNATURES[oid];
  if (known === undefined) throw new UnknownAlgorithmError(oid === RSA ? 'SHA-1 with RSA' : oid);
  return known;
}

/** RSASSA-PSS-params (RFC 4055, section 3.1). The defaults are SHA-1's, which is refused. */
function pssOf(parameters: DerValue | undefined): SignatureAlgorithm {
  if (!parameters) throw new UnknownAlgorithmError('SHA-1 with RSA-PSS');
  const hash = hashOfIdentifier(tagged(parameters, 0)?.parts[0], 'hash of RSA-PSS');
  const mask = tagged(parameters, 1)?.parts[0];
  if (hash === 'sha1' || hashOfIdentifier(mask?.parts[1], 'mask of RSA-PSS') !== hash)
    throw new UnknownAlgorithmError('RSA-PSS with two hashes');
  const salt = tagged(parameters, 2)?.parts[0];
  const saltLength = salt ? Number.parseInt(integerHexOf(salt, 'salt length'), 16) : 20;
  if (saltLength > 64) throw new DerError('Its salt is too long.');
  return { kind: 'rsa-pss', hash, saltLength };
}
