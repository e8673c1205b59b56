import { createHash, createPublicKey, hkdfSync, type KeyObject, sign, verify } from 'node:crypto';
import { isSoundKey } from '../../../shared/proof/crypto/ed25519.ts';
import { MAX_COSIGNED_SECONDS } from '../../../shared/proof/ledger/signedNote.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { cosignaturesOf } from '../../store/sqlite/node/ledger.ts';
import { privateKeyOfSeed } from '../checkpoint.ts';

/** A key that cosigns checkpoints: C2SP tlog-cosignature, Ed25519 (`cosignature/v1`). */
export interface Cosigner {
  /** `name+hash+key`, with signature type 4. */
  verifierKey: string;
  privateKey: KeyObject;
}

/** The public part of a cosigner. */
interface CosignerKey {
  name: string;
  /** The key id: four bytes. */
  id: Buffer;
  publicKey: KeyObject;
}

const COSIGNATURE_V1 = Buffer.of(4);
/** The bytes before a raw Ed25519 key in SPKI (RFC 8410, section 4). */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/**
 * Derives the witness key of a node from its own key (HKDF, RFC 5869). It is a key of its own, as the specification
 * demands, and needs no file of its own. When the node gets a new key, after a rollback for example, so does the witness:
 * what it cosigned before is then not known for certain.
 */
export function cosignerOf(nodeName: string, nodeKey: KeyObject): Cosigner {
  const seed = Buffer.from(nodeKey.export({ format: 'jwk' }).d ?? '', 'base64url');
  const derived = hkdfSync('sha256', seed, Buffer.alloc(0), 'strongroom witness cosignature/v1', 32);
  return cosignerFrom(`${nodeName}/witness`, privateKeyOfSeed(Buffer.from(derived)));
}

export function cosignerFrom(name: string, privateKey: KeyObject): Cosigner {
  const publicKey = createPublicKey(privateKey)
    .export({ format: 'der', type: 'spki' })
    .subarray(SPKI_PREFIX.length);
  const encoded = Buffer.concat([COSIGNATURE_V1, publicKey]);
  return {
    verifierKey: `${name}+${keyId(name, encoded).toString('hex')}+${encoded.toString('base64')}`,
    privateKey,
  };
}

function keyId(name: string, encoded: Uint8Array): Buffer {
  return createHash('sha256').update(`${name}\n`).update(encoded).digest().subarray(0, 4);
}

/** Parses a cosigner's verifier key; undefined if it is not one. */
export function parseCosignerKey(verifierKey: string): CosignerKey | undefined {
  const [, name = '', id = '', encoded = ''] = /^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/.exec(verifierKey) ?? [];
  const key = Buffer.from(encoded, 'base64');
  if (key[0] !== COSIGNATURE_V1[0] || keyId(name, key).toString('hex') !== id) return undefined;
  if (key.toString('base64') !== encoded || !isSoundKey(key.subarray(1))) return undefined;
  const spki = Buffer.concat([SPKI_PREFIX, key.subarray(1)]);
  return {
    name,
    id: Buffer.from(id, 'hex'),
    publicKey: createPublicKey({ key: spki, format: 'der', type: 'spki' }),
  };
}

/** The bytes that a cosignature signs. `body` is the checkpoint without its signatures. */
function signedMessage(body: string, seconds: bigint): Buffer {
  return Buffer.from(`cosignature/v1\ntime ${seconds}\n${body}`);
}

/** Cosigns a checkpoint and returns the signature line, with its line break. */
export function cosign({ verifierKey, privateKey }: Cosigner, body: string, milliseconds: number): string {
  const [name = '', id = ''] = verifierKey.split('+', 2);
  const seconds = BigInt(Math.floor(milliseconds / 1000));
  const time = Buffer.alloc(8);
  time.writeBigUInt64BE(seconds);
  const signature = sign(null, signedMessage(body, seconds), privateKey);
  return `— ${name} ${Buffer.concat([Buffer.from(id, 'hex'), time, signature]).toString('base64')}\n`;
}

/** A valid cosignature: its line, and the time that the witness gives, in milliseconds since the epoch. */
export interface Cosignature {
  line: string;
  at: number;
}

/** Finds the valid cosignature of a witness among signature lines. Lines of other keys are ignored. */
export function findCosignature(
  lines: string,
  body: string,
  { name, id, publicKey }: CosignerKey,
): Cosignature | undefined {
  for (const line of lines.split('\n')) {
    const prefix = `— ${name} `;
    if (!line.startsWith(prefix)) continue;
    const encoded = line.slice(prefix.length);
    const bytes = Buffer.from(encoded, 'base64');
    // An evidence file with the line written otherwise would be altered.
    if (bytes.toString('base64') !== encoded) continue;
    if (bytes.length !== 76 || !bytes.subarray(0, 4).equals(id)) continue;
    const seconds = bytes.readBigUInt64BE(4);
    if (!verify(null, signedMessage(body, seconds), publicKey, bytes.subarray(12))) continue;
    if (seconds > MAX_COSIGNED_SECONDS) continue;
    return { line: `${line}\n`, at: Number(seconds) * 1000 };
  }
  return undefined;
}

/** Appends to a checkpoint the lines of the witnesses that cosigned it. `root` is in hex. */
export function withCosignatures(read: ReadDatabase, note: string, size: number, root: string): string {
  const origin = note.slice(0, note.indexOf('\n'));
  return (
    note +
    cosignaturesOf(read, { origin, size, root })
      .map(({ line }) => line)
      .join('')
  );
}
