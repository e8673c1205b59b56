import {
  constants,
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import type { ProofCrypto } from '../../shared/proof/crypto/algorithms.ts';
import { isSoundKey } from '../../shared/proof/crypto/ed25519.ts';
import { noteBody, parseCheckpoint, signatureState } from '../../shared/proof/ledger/signedNote.ts';

/**
 * A checkpoint: the size and root of the ledger, signed by the node. The format is C2SP tlog-checkpoint
 * (https://c2sp.org/tlog-checkpoint): a signed note (https://c2sp.org/signed-note) whose text has three lines, the
 * origin, the size and the root in base64. Signatures are Ed25519 (RFC 8032).
 */
export interface Checkpoint {
  origin: string;
  size: number;
  root: Buffer;
}

/** The public part of a node's key. */
export interface PublicNodeKey {
  /** The key's name, and the origin of its checkpoints. */
  name: string;
  /** `name+hash+key`: the verifier key of a signed note. */
  verifierKey: string;
}

/** The node's key pair. */
export interface NodeKey extends PublicNodeKey {
  privateKey: KeyObject;
}

/** The signature type of Ed25519 in a signed note. */
const ED25519 = Buffer.of(1);
/** The bytes before a raw Ed25519 seed in PKCS #8 (RFC 8410, section 7), and before a raw public key in SPKI (section 4). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/** Returns the private key of a 32-byte seed. */
export function privateKeyOfSeed(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' });
}

export function nodeKeyOf(name: string, privateKey: KeyObject): NodeKey {
  const publicKey = createPublicKey(privateKey)
    .export({ format: 'der', type: 'spki' })
    .subarray(SPKI_PREFIX.length);
  const id = keyId(name, publicKey);
  const encoded = Buffer.concat([ED25519, publicKey]).toString('base64');
  return { name, privateKey, verifierKey: `${name}+${id.toString('hex')}+${encoded}` };
}

function keyId(name: string, publicKey: Uint8Array): Buffer {
  return createHash('sha256').update(`${name}\n`).update(ED25519).update(publicKey).digest().subarray(0, 4);
}

/** Signs a checkpoint and returns the signed note. */
export function signCheckpoint(key: NodeKey, { size, root }: Omit<Checkpoint, 'origin'>): string {
  return signNote(key, `${key.name}\n${size}\n${root.toString('base64')}\n`);
}

/** Signs a text, which ends with a line break, and returns the signed note. */
export function signNote({ name, privateKey, verifierKey }: NodeKey, text: string): string {
  const id = Buffer.from(verifierKey.split('+')[1] ?? '', 'hex');
  const signature = Buffer.concat([id, sign(null, Buffer.from(text), privateKey)]).toString('base64');
  return `${text}\n— ${name} ${signature}\n`;
}

/** A text is not a checkpoint signed by the expected key. */
export class CheckpointError extends Error {
  override name = 'CheckpointError';
}

/**
 * Verifies the signature of a signed note with a verifier key and parses the checkpoint.
 *
 * @throws CheckpointError if it is malformed, altered, or not signed by this key.
 */
export function openCheckpoint(note: string, verifierKey: string): Checkpoint {
  if (!isVerifierKey(verifierKey))
    throw new CheckpointError(
      'The verifier key is malformed. It must be name+hash+key, with an Ed25519 key.',
    );
  if (noteBody(note) === '' || !note.endsWith('\n'))
    throw new CheckpointError('This is not a checkpoint: it has no signature.');
  const state = signatureState(note, verifierKey, nodeCrypto);
  if (state === 'absent')
    throw new CheckpointError(`${verifierKey.split('+', 1)[0]} has not signed this checkpoint.`);
  if (state === 'invalid')
    throw new CheckpointError('The checkpoint was altered: its signature does not match.');
  const checkpoint = parseCheckpoint(noteBody(note));
  if (!checkpoint)
    throw new CheckpointError(
      'This is not a checkpoint: it needs an origin, a size and a root, on a line each.',
    );
  return { ...checkpoint, root: Buffer.from(checkpoint.root) };
}

/** Returns whether a text is the verifier key of an Ed25519 key that signs checkpoints. */
export function isVerifierKey(verifierKey: string): boolean {
  const [name = '', id = ''] = verifierKey.split('+', 2);
  const key = Buffer.from(verifierKey.slice(name.length + id.length + 2), 'base64');
  return (
    name !== '' && key.length === 33 && key[0] === 1 && keyId(name, key.subarray(1)).toString('hex') === id
  );
}

/**
 * Formats a proof file (https://c2sp.org/tlog-proof): the index, the audit path and the checkpoint. It can be verified
 * without a node.
 */
export function proofFile(index: number, path: readonly Buffer[], checkpoint: string): string {
  const hashes = path.map((hash) => `${hash.toString('base64')}\n`).join('');
  return `c2sp.org/tlog-proof@v1\nindex ${index}\n${hashes}\n${checkpoint}`;
}

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
    if (algorithm.kind === 'ed25519')
      return isSoundKey(publicKey.subarray(SPKI_PREFIX.length)) && verify(null, message, key, signature);
    if (algorithm.kind !== 'rsa-pss') return verify(algorithm.hash, message, key, signature);
    const { hash, saltLength } = algorithm;
    return verify(hash, message, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength }, signature);
  },
};
