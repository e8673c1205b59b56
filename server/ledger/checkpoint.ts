import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';

/**
 * Checkpoints: the size and root of the ledger under the node's signature, in the form that others' tools read.
 * C2SP tlog-checkpoint (https://c2sp.org/tlog-checkpoint) is a C2SP signed note (https://c2sp.org/signed-note) whose
 * text is the origin, the size and the root in base64, a line each. Signatures are Ed25519 (RFC 8032).
 */
export interface Checkpoint {
  origin: string;
  size: number;
  root: Buffer;
}

/** The node's own key pair and what others know it by. */
export interface NodeKey {
  /** The key's name, and the origin of its checkpoints. */
  name: string;
  privateKey: KeyObject;
  /** `name+hash+key`: the verifier key of a signed note. */
  verifierKey: string;
}

/** The signature type of Ed25519 in a signed note. */
const ED25519 = Buffer.of(1);
/** What stands before a raw Ed25519 seed in PKCS #8 (RFC 8410, section 7), and before a raw key in SPKI (section 4). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/** The private key of a seed of 32 bytes. */
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

/** The signed note of a checkpoint, as text. */
export function signCheckpoint(
  { name, privateKey, verifierKey }: NodeKey,
  { size, root }: Omit<Checkpoint, 'origin'>,
): string {
  const text = `${name}\n${size}\n${root.toString('base64')}\n`;
  const id = Buffer.from(verifierKey.split('+')[1] ?? '', 'hex');
  const signature = Buffer.concat([id, sign(null, Buffer.from(text), privateKey)]).toString('base64');
  return `${text}\n— ${name} ${signature}\n`;
}

/** Why a text is no checkpoint of this key. */
export class CheckpointError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CheckpointError';
  }
}

/**
 * Opens a signed note: checks the signature of the verifier key and reads the checkpoint.
 *
 * @throws CheckpointError, with a sentence, where it is malformed, signed by another key only, or altered.
 */
export function openCheckpoint(note: string, verifierKey: string): Checkpoint {
  const [name = '', id = '', encoded = ''] = verifierKey.split(/\+/, 3);
  const key = Buffer.from(verifierKey.slice(name.length + id.length + 2), 'base64');
  if (
    encoded === '' ||
    key.length !== 33 ||
    key[0] !== 1 ||
    keyId(name, key.subarray(1)).toString('hex') !== id
  ) {
    throw new CheckpointError('The verifier key is malformed: name+hash+key, with Ed25519, is needed.');
  }
  const end = note.lastIndexOf('\n\n');
  if (end < 0 || !note.endsWith('\n'))
    throw new CheckpointError('This is no checkpoint: it has no signature.');
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

function parseCheckpoint(text: string): Checkpoint {
  const [origin = '', size = '', encodedRoot = ''] = text.split('\n');
  const root = Buffer.from(encodedRoot, 'base64');
  if (
    origin === '' ||
    !/^(0|[1-9]\d{0,14})$/.test(size) ||
    root.length !== 32 ||
    root.toString('base64') !== encodedRoot
  ) {
    throw new CheckpointError('This is no checkpoint: an origin, a size and a root are needed, a line each.');
  }
  return { origin, size: Number(size), root };
}

/**
 * A proof file that can be kept beside a download and checked with no node (https://c2sp.org/tlog-proof): the index,
 * the audit path and the checkpoint.
 */
export function proofFile(index: number, path: readonly Buffer[], checkpoint: string): string {
  const hashes = path.map((hash) => `${hash.toString('base64')}\n`).join('');
  return `c2sp.org/tlog-proof@v1\nindex ${index}\n${hashes}\n${checkpoint}`;
}
