import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';

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
export function signCheckpoint(
  { name, privateKey, verifierKey }: NodeKey,
  { size, root }: Omit<Checkpoint, 'origin'>,
): string {
  const text = `${name}\n${size}\n${root.toString('base64')}\n`;
  const id = Buffer.from(verifierKey.split('+')[1] ?? '', 'hex');
  const signature = Buffer.concat([id, sign(null, Buffer.from(text), privateKey)]).toString('base64');
  return `${text}\n— ${name} ${signature}\n`;
}

/** A text is not a checkpoint signed by the expected key. */
export class CheckpointError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CheckpointError';
  }
}

/**
 * Verifies the signature of a signed note with a verifier key and parses the checkpoint.
 *
 * @throws CheckpointError if it is malformed, altered, or not signed by this key.
 */
export function openCheckpoint(note: string, verifierKey: string): Checkpoint {
  const [name = '', id = ''] = verifierKey.split('+', 2);
  const key = Buffer.from(verifierKey.slice(name.length + id.length + 2), 'base64');
  if (!isVerifierKey(verifierKey)) {
    throw new CheckpointError(
      'The verifier key is malformed. It must be name+hash+key, with an Ed25519 key.',
    );
  }
  const end = note.lastIndexOf('\n\n');
  if (end < 0 || !note.endsWith('\n'))
    throw new CheckpointError('This is not a checkpoint: it has no signature.');
  const text = note.slice(0, end + 1);
  const prefix = `— ${name} `;
  const signatures = note
    .slice(end + 2, -1)
    .split('\n')
    .filter((line) => line.startsWith(prefix))
    .map((line) => Buffer.from(line.slice(prefix.length), 'base64'))
    .filter((signature) => signature.subarray(0, 4).toString('hex') === id);
  if (signatures.length === 0) throw new CheckpointError(`${name} has not signed this checkpoint.`);
  const publicKey = createPublicKey({
    key: Buffer.concat([SPKI_PREFIX, key.subarray(1)]),
    format: 'der',
    type: 'spki',
  });
  if (!signatures.every((signature) => verify(null, Buffer.from(text), publicKey, signature.subarray(4)))) {
    throw new CheckpointError('The checkpoint was altered: its signature does not match.');
  }
  return parseCheckpoint(text);
}

/** Returns whether a text is the verifier key of an Ed25519 key that signs checkpoints. */
export function isVerifierKey(verifierKey: string): boolean {
  const [name = '', id = ''] = verifierKey.split('+', 2);
  const key = Buffer.from(verifierKey.slice(name.length + id.length + 2), 'base64');
  return (
    name !== '' && key.length === 33 && key[0] === 1 && keyId(name, key.subarray(1)).toString('hex') === id
  );
}

function parseCheckpoint(text: string): Checkpoint {
  const [origin = '', size = '', encodedRoot = ''] = text.split('\n');
  const root = Buffer.from(encodedRoot, 'base64');
  if (
    origin === '' ||
    !/^(0|[1-9]\d{0,14})$/.test(size) ||
    root.length !== 32 ||
    root.toString('base64') !== encodedRoot
  ) {
    throw new CheckpointError(
      'This is not a checkpoint: it needs an origin, a size and a root, on a line each.',
    );
  }
  return { origin, size: Number(size), root };
}

/**
 * Formats a proof file (https://c2sp.org/tlog-proof): the index, the audit path and the checkpoint. It can be verified
 * without a node.
 */
export function proofFile(index: number, path: readonly Buffer[], checkpoint: string): string {
  const hashes = path.map((hash) => `${hash.toString('base64')}\n`).join('');
  return `c2sp.org/tlog-proof@v1\nindex ${index}\n${hashes}\n${checkpoint}`;
}
