import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Decrypter, Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption';

/** A file that is decrypted into another one. */
export interface AgeFile {
  from: string;
  to: string;
  /** The digest of the bytes that are encrypted. */
  sha256: string;
}

/**
 * What age (C2SP) does in a thread: deriving a key from a passphrase takes seconds, on purpose, and files may be
 * large. `age-encryption` is a development dependency, because the build puts what is used of it into the code of the
 * threads: as a whole it is ten times as large. An `identity` may be several, one on each line.
 */
export type AgeTask =
  | { encrypt: string; passphrase: string }
  | { decrypt: Uint8Array; passphrase: string }
  | { generate: true }
  | { recipientOf: string }
  | { text: string; recipient: string }
  | { encrypted: readonly string[]; identity: string }
  | { file: AgeFile; identity: string };

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
  return decryptFile(task.file, task.identity);
}

/** Decrypts a file with any of the identities (one on each line). Returns false if none fits, or it was altered. */
async function decryptFile({ from, to, sha256 }: AgeFile, identity: string): Promise<boolean> {
  const decrypter = decrypterWith(identity);
  const encrypted = createReadStream(from, { highWaterMark: CHUNK });
  const hash = createHash('sha256');
  async function* hashed(chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      hash.update(chunk);
      yield chunk;
    }
  }
  try {
    const plain = await decrypter.decrypt(asWeb(encrypted));
    await pipeline(
      Readable.from(hashed(plain), { objectMode: false }),
      createWriteStream(to, { mode: 0o600 }),
    );
    return hash.digest('hex') === sha256;
  } catch (error) {
    // The library has no type for its errors.
    if (!(error instanceof Error) || 'code' in error) throw error;
    return false;
  } finally {
    // If no identity fits, the library leaves the file open, and the thread lives on.
    if (!encrypted.closed) await once(encrypted.destroy(), 'close');
  }
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
