import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Decrypter, Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption';
import { isMissing, isUnreadable } from '../../store/files.ts';

/** A file that is encrypted, or decrypted, into another one. */
export interface AgeFile {
  from: string;
  /** Where the result is written; if undefined, it is only hashed. */
  to?: string | undefined;
  /** The digest of the bytes that are encrypted. */
  sha256: string;
}

/**
 * The result that was written; null if the bytes are missing, or are not those of the digest; `other_key` if the file is
 * encrypted to none of the identities.
 */
export type AgeResult = { sha256: string; bytes: number } | 'other_key' | null;

/**
 * What age (C2SP) does in a thread: deriving a key from a passphrase takes seconds, on purpose, and large objects are
 * encrypted. `age-encryption` is a development dependency, because the build puts what is used of it into the code of the
 * threads: as a whole it is ten times as large. An `identity` may be several, one on each line.
 */
export type AgeTask =
  | { encrypt: string; passphrase: string }
  | { decrypt: Uint8Array; passphrase: string }
  | { generate: true }
  | { recipientOf: string }
  | { text: string; recipient: string }
  | { encrypted: readonly string[]; identity: string }
  | { files: readonly AgeFile[]; recipient: string }
  | { files: readonly AgeFile[]; identity: string };

export async function runAgeTask(task: AgeTask): Promise<unknown> {
  if ('encrypt' in task) {
    const encrypter = new Encrypter();
    encrypter.setPassphrase(task.passphrase);
    return encrypter.encrypt(task.encrypt);
  }
  if ('decrypt' in task) {
    const decrypter = new Decrypter();
    decrypter.addPassphrase(task.passphrase);
    return decrypter.decrypt(task.decrypt, 'text');
  }
  if ('generate' in task) return generateX25519Identity();
  if ('recipientOf' in task) {
    // Each, so that one with a wrong character is found before anything is encrypted.
    const [first] = await Promise.all(
      identitiesIn(task.recipientOf).map((each) => identityToRecipient(each)),
    );
    return first;
  }
  if ('text' in task) return encryptText(task.text, task.recipient);
  if ('encrypted' in task) return Promise.all(task.encrypted.map((each) => decryptText(each, task.identity)));
  const results: AgeResult[] = [];
  for (const file of task.files)
    results.push(
      'recipient' in task ? await encryptFile(file, task.recipient) : await decryptFile(file, task.identity),
    );
  return results;
}

/** Encrypts a file to a recipient (age, C2SP). Memory is bounded. The result is null if the file has another digest. */
async function encryptFile({ from, to, sha256 }: AgeFile, recipient: string): Promise<AgeResult> {
  const encrypter = new Encrypter();
  encrypter.addRecipient(recipient);
  return orNull(async () => {
    const plain = hashing(createReadStream(from, { highWaterMark: CHUNK }));
    const encrypted = hashing(await encrypter.encrypt(asWeb(plain.chunks)));
    await write(encrypted.chunks, to);
    return plain.digest() === sha256 ? { sha256: encrypted.digest(), bytes: encrypted.bytes() } : null;
  });
}

/** Decrypts a file with any of the identities (one on each line). The result is null if it was altered. */
async function decryptFile({ from, to, sha256 }: AgeFile, identity: string): Promise<AgeResult> {
  const decrypter = decrypterWith(identity);
  return orNull(async () => {
    const encrypted = createReadStream(from, { highWaterMark: CHUNK });
    try {
      const plain = hashing(await decrypter.decrypt(asWeb(encrypted)));
      await write(plain.chunks, to);
      return plain.digest() === sha256 ? { sha256, bytes: plain.bytes() } : null;
    } catch (error) {
      // The library has no type for its errors.
      if (!(error instanceof Error) || 'code' in error) throw error;
      return error.message.startsWith('no identity matched') ? 'other_key' : null;
    } finally {
      // If no identity fits, the library leaves the file open, and the thread lives on.
      if (!encrypted.closed) await once(encrypted.destroy(), 'close');
    }
  });
}

/** Encrypts a text to a recipient. The result is base64. */
async function encryptText(text: string, recipient: string): Promise<string> {
  const encrypter = new Encrypter();
  encrypter.addRecipient(recipient);
  return Buffer.from(await encrypter.encrypt(text)).toString('base64');
}

/** Decrypts a text with any of the identities (one on each line). Returns undefined if none fits, or if the text was altered. */
async function decryptText(encrypted: string, identity: string): Promise<string | undefined> {
  const decrypter = decrypterWith(identity);
  try {
    return await decrypter.decrypt(Buffer.from(encrypted, 'base64'), 'text');
  } catch {
    // The library has no type for its errors, and here is nothing else that fails.
    return undefined;
  }
}

/** Returns the identities of a text that has one on each line. */
function identitiesIn(text: string): string[] {
  return text.split('\n');
}

function decrypterWith(identity: string): Decrypter {
  const decrypter = new Decrypter();
  for (const each of identitiesIn(identity)) decrypter.addIdentity(each);
  return decrypter;
}

const CHUNK = 262_144;

function asWeb(chunks: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  return Readable.toWeb(Readable.from(chunks, { objectMode: false })) as ReadableStream<Uint8Array>;
}

async function orNull(work: () => Promise<AgeResult>): Promise<AgeResult> {
  try {
    return await work();
  } catch (error) {
    if (isMissing(error) || isUnreadable(error)) return null;
    throw error;
  }
}

function hashing(source: AsyncIterable<Uint8Array>) {
  const hash = createHash('sha256');
  let bytes = 0;
  async function* chunks() {
    for await (const chunk of source) {
      hash.update(chunk);
      bytes += chunk.length;
      yield chunk;
    }
  }
  return { chunks: chunks(), digest: () => hash.digest('hex'), bytes: () => bytes };
}

async function write(chunks: AsyncIterable<Uint8Array>, to: string | undefined): Promise<void> {
  if (to === undefined) for await (const _ of chunks);
  else await pipeline(Readable.from(chunks, { objectMode: false }), createWriteStream(to, { mode: 0o600 }));
}
