import { hashes, verify } from '@noble/ed25519';
import { sha256, sha512 } from '@noble/hashes/sha2.js';
import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js';

// WebCrypto is not available to pages over plain HTTP, which is how visitors on the network open this one.
hashes.sha512 = sha512;

/** A signed note (https://c2sp.org/signed-note): a text and the signatures below it. */
export interface SignedNote {
  /** With its last line feed. These bytes are signed. */
  text: string;
  signatures: readonly { name: string; id: string; signature: Uint8Array }[];
}

/** The signature type of Ed25519 in a signed note. */
const ED25519 = 1;
const SIGNATURE_LINE = /^— (\S+) ([A-Za-z0-9+/]+=*)$/;

/** Parses a signed note. Returns undefined if the text is not one. */
export function parseSignedNote(note: string): SignedNote | undefined {
  const end = note.lastIndexOf('\n\n');
  if (end < 0 || !note.endsWith('\n')) return undefined;
  const signatures: SignedNote['signatures'][number][] = [];
  for (const line of note.slice(end + 2, -1).split('\n')) {
    const [, name = '', encoded = ''] = SIGNATURE_LINE.exec(line) ?? [];
    const bytes = bytesOfBase64(encoded);
    if (name === '' || bytes === undefined || bytes.length <= 4) return undefined;
    signatures.push({ name, id: bytesToHex(bytes.subarray(0, 4)), signature: bytes.subarray(4) });
  }
  return { text: note.slice(0, end + 1), signatures };
}

/** `absent` if the note has no signature by this key. */
export type SignatureState = 'valid' | 'invalid' | 'absent';

/** Verifies a note's signature by a verifier key, `name+hash+key`. */
export function verifySignature({ text, signatures }: SignedNote, verifierKey: string): SignatureState {
  const [name = '', id = ''] = verifierKey.split('+', 2);
  const key = bytesOfBase64(verifierKey.slice(name.length + id.length + 2));
  if (key?.length !== 33 || key[0] !== ED25519 || keyId(name, key) !== id) return 'absent';
  const own = signatures.filter((signature) => signature.name === name && signature.id === id);
  if (own.length === 0) return 'absent';
  const message = utf8ToBytes(text);
  return own.every(({ signature }) => isSigned(signature, message, key.subarray(1))) ? 'valid' : 'invalid';
}

function isSigned(signature: Uint8Array, message: Uint8Array, key: Uint8Array): boolean {
  try {
    return verify(signature, message, key);
  } catch {
    // Thrown for a signature or a key that does not encode a point.
    return false;
  }
}

function keyId(name: string, key: Uint8Array): string {
  return bytesToHex(sha256(concatBytes(utf8ToBytes(`${name}\n`), key)).subarray(0, 4));
}

/** Returns undefined if the text is not canonical base64. */
export function bytesOfBase64(text: string): Uint8Array | undefined {
  try {
    const binary = atob(text);
    return btoa(binary) === text
      ? Uint8Array.from(binary, (character) => character.charCodeAt(0))
      : undefined;
  } catch {
    return undefined;
  }
}
