import type { ProofCrypto } from '../crypto/algorithms.ts';
import { concat, fromBase64, hexOf, isSameBytes, strictBase64, toBase64, utf8 } from '../crypto/bytes.ts';

/** A proof does not hold. The message is a sentence that says why. */
export class ProofError extends Error {
  override name = 'ProofError';
}

/** Returns undefined if what is opened was not signed, or was altered. */
export function ifValid<Result>(open: () => Result): Result | undefined {
  try {
    return open();
  } catch (error) {
    if (error instanceof ProofError || error instanceof RangeError) return undefined;
    throw error;
  }
}

/** A checkpoint (C2SP tlog-checkpoint) whose signature was verified. */
export interface OpenedCheckpoint {
  origin: string;
  size: number;
  root: Uint8Array;
  /** The text that the signatures are over. */
  body: string;
}

interface VerifierKey {
  name: string;
  id: Uint8Array;
  /** The key as a SubjectPublicKeyInfo. */
  publicKey: Uint8Array;
}

const ED25519 = { kind: 'ed25519' } as const;
const NODE_KEY = 1;
const COSIGNATURE_KEY = 4;
/** The bytes before a raw Ed25519 key in SPKI (RFC 8410, section 4). */
const SPKI_PREFIX = Uint8Array.of(0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00);

/** @throws ProofError, RangeError */
function parseKey(verifierKey: string, type: number, crypto: ProofCrypto): VerifierKey {
  const [, name = '', id = '', encoded = ''] = /^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/.exec(verifierKey) ?? [];
  const key = strictBase64(encoded);
  if (key.length !== 33 || key[0] !== type) throw new ProofError('The key is not an Ed25519 key.');
  const hash = crypto.digest('sha256', concat(utf8(`${name}\n`), key)).subarray(0, 4);
  if (hexOf(hash) !== id) throw new ProofError('The key was altered: its hash does not match.');
  return { name, id: hash, publicKey: concat(SPKI_PREFIX, key.subarray(1)) };
}

/** Requires that a text is the verifier key of a node, named by its own hash. @throws ProofError, RangeError */
export function requireNodeKey(verifierKey: string, crypto: ProofCrypto): void {
  parseKey(verifierKey, NODE_KEY, crypto);
}

/** Returns the signatures of a key: the bytes after its id. */
function signaturesBy({ name, id }: Pick<VerifierKey, 'name' | 'id'>, note: string): Uint8Array[] {
  const prefix = `— ${name} `;
  return signatureLines(note)
    .filter((line) => line.startsWith(prefix))
    .map((line) => strictBase64(line.slice(prefix.length)))
    .filter((bytes) => isSameBytes(bytes.subarray(0, 4), id))
    .map((bytes) => bytes.subarray(4));
}

/**
 * Returns the signature lines of a note by what `lineKeyOf` gives for the key that they say they are by. Whether they are, is not
 * checked. They are read once for all keys: reading them for each takes as long as both numbers multiplied.
 */
export function linesByKey(note: string): ReadonlyMap<string, readonly string[]> {
  return Map.groupBy(signatureLines(note), (line) => {
    const [, name = '', encoded = ''] = /^— (\S+) (\S+)$/.exec(line) ?? [];
    // A line that cannot be read is by nobody, and is counted by `countLines`.
    return `${name}+${ifValid(() => hexOf(strictBase64(encoded).subarray(0, 4))) ?? ''}`;
  });
}

/** What the lines of a key are found by: the name and the id in it. */
export function lineKeyOf(verifierKey: string): string {
  return verifierKey.split('+', 2).join('+');
}

/**
 * Returns the key in a verifier key, in hex, without its name and its type; undefined if there is none. One key can have many
 * names.
 */
export function rawKeyOf(verifierKey: string): string | undefined {
  const encoded = verifierKey.split('+').slice(2).join('+');
  const key = ifValid(() => hexOf(fromBase64(encoded).subarray(1)));
  return key?.length === 64 ? key : undefined;
}

/** The text of a signed note, and whose key signed it. */
export interface OpenedNote {
  name: string;
  /** The text that the signatures are over. */
  body: string;
}

/** `absent` if the note has no signature by this key. */
export type SignatureState = 'valid' | 'invalid' | 'absent';

/** Verifies a key's signatures of a note (C2SP signed-note). A key that cannot be read has signed nothing. */
export function signatureState(note: string, verifierKey: string, crypto: ProofCrypto): SignatureState {
  try {
    const key = parseKey(verifierKey, NODE_KEY, crypto);
    const signatures = signaturesBy(key, note);
    if (signatures.length === 0) return 'absent';
    const message = utf8(noteBody(note));
    const isValid = signatures.every((signature) =>
      crypto.verify(ED25519, key.publicKey, message, signature),
    );
    return isValid ? 'valid' : 'invalid';
  } catch (error) {
    if (error instanceof ProofError || error instanceof RangeError) return 'absent';
    throw error;
  }
}

/** Whether a text has the form of a signed note. Its signature is not checked. */
export function isSignedNote(text: string): boolean {
  const end = text.lastIndexOf('\n\n');
  const lines = text.slice(end + 2, -1).split('\n');
  return end >= 0 && text.endsWith('\n') && lines.every((line) => /^— \S+ [A-Za-z0-9+/]{6,}=*$/.test(line));
}

/** Whether a text begins as a proof file does (C2SP tlog-proof). */
export function isProofFile(text: string): boolean {
  return text.startsWith('c2sp.org/tlog-proof@v1\n');
}

/** Whether a text has the form of a signed checkpoint. Its signature is not checked. */
export function isCheckpointNote(text: string): boolean {
  return isSignedNote(text) && parseCheckpoint(noteBody(text)) !== undefined;
}

/** The text that the signatures of a note are over. */
export function noteBody(note: string): string {
  return note.slice(0, note.lastIndexOf('\n\n') + 1);
}

/** Verifies the signature of a note. @throws ProofError, which says `what` it is; RangeError */
export function openNote(
  note: string,
  verifierKey: string,
  crypto: ProofCrypto,
  what: 'checkpoint' | 'list',
): OpenedNote {
  const { name } = parseKey(verifierKey, NODE_KEY, crypto);
  if (!isSignedNote(note)) throw new ProofError(`The ${what} is not a signed note.`);
  const state = signatureState(note, verifierKey, crypto);
  if (state === 'absent') throw new ProofError(`The node has not signed this ${what}.`);
  if (state === 'invalid') throw new ProofError(`The ${what} was altered: its signature does not match.`);
  return { name, body: noteBody(note) };
}

/** The root of a ledger without entries: the SHA-256 of nothing. */
const EMPTY_ROOT = '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=';

/** Parses the text of a checkpoint (C2SP tlog-checkpoint); undefined if it is not one, or gives no entries a root. */
export function parseCheckpoint(body: string): Omit<OpenedCheckpoint, 'body'> | undefined {
  const [origin = '', size = '', encoded = ''] = body.split('\n');
  const isOne = origin !== '' && /^(0|[1-9]\d{0,14})$/.test(size) && /^[A-Za-z0-9+/]{43}=$/.test(encoded);
  const root = isOne && (size !== '0' || encoded === EMPTY_ROOT) ? fromBase64(encoded) : undefined;
  // Another text of the same bytes would not be what was signed.
  return root && toBase64(root) === encoded ? { origin, size: Number(size), root } : undefined;
}

/** Verifies a checkpoint with the key of its log. @throws ProofError, RangeError */
export function openCheckpoint(note: string, verifierKey: string, crypto: ProofCrypto): OpenedCheckpoint {
  const { name, body } = openNote(note, verifierKey, crypto, 'checkpoint');
  const checkpoint = parseCheckpoint(body);
  if (checkpoint?.origin !== name) throw new ProofError('This is not a checkpoint of this node.');
  return { ...checkpoint, body };
}

/** The last second that a date can say. */
export const MAX_COSIGNED_SECONDS = 8_640_000_000_000n;

/**
 * Verifies the line of a witness in a checkpoint (C2SP tlog-cosignature).
 *
 * @returns the time that the witness gives, in milliseconds since the epoch; undefined if it has no line
 * @throws ProofError if its line does not match; RangeError
 */
export function openCosignature(note: string, verifierKey: string, crypto: ProofCrypto): number | undefined {
  const key = parseKey(verifierKey, COSIGNATURE_KEY, crypto);
  const body = noteBody(note);
  const [signature] = signaturesBy(key, note);
  if (!signature) return undefined;
  const seconds = signature.subarray(0, 8).reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  if (signature.length !== 72 || seconds > MAX_COSIGNED_SECONDS)
    throw new ProofError('The line of the witness was altered: it has no time that a clock can show.');
  const message = utf8(`cosignature/v1\ntime ${seconds}\n${body}`);
  if (!crypto.verify(ED25519, key.publicKey, message, signature.subarray(8)))
    throw new ProofError('The line of the witness was altered: its signature does not match.');
  return Number(seconds) * 1000;
}

/** Verifies the node's signature of a message. @throws ProofError, RangeError */
export function verifyBy(
  verifierKey: string,
  message: Uint8Array,
  signature: Uint8Array,
  crypto: ProofCrypto,
): boolean {
  return crypto.verify(ED25519, parseKey(verifierKey, NODE_KEY, crypto).publicKey, message, signature);
}

/** Returns how many signature lines a checkpoint has. Each of them must be accounted for. */
export function countLines(note: string): number {
  return signatureLines(note).length;
}

function signatureLines(note: string): string[] {
  return note
    .slice(note.lastIndexOf('\n\n') + 2)
    .split('\n')
    .filter(Boolean);
}
