import { createPrivateKey, hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../../../shared/problems.ts';
import type { OwnerEncryption } from '../../findings/sealed.ts';
import { nodeKeyOf } from '../../ledger/checkpoint.ts';
import { keyFile, keyNameOf, NodeKeyError, readNodeKey } from '../../ledger/nodeKey.ts';
import { once } from '../../runtime/concurrency.ts';
import { runInThread } from '../../runtime/threads.ts';
import { orIfMissing, writeFileDurably } from '../../store/files.ts';
import { KEY } from '../copyPaths.ts';
import { CopyError, type CopyTarget, readBytes } from '../targets/target.ts';
import type { AgeFile, AgeTask } from './ageFiles.ts';

/** The owner's key for sealed findings: age identities (C2SP), and the recipient that belongs to the first. */
export interface WithheldKey {
  /** One on each line. The others are of earlier data folders. */
  identity: string;
  recipient: string;
}

const IDENTITY = /^AGE-SECRET-KEY-1[A-Z0-9]{58}$/gm;

/** The file of the identities. Whoever has it can read sealed findings in every copy. */
function withheldKeyFile(folder: string): string {
  return join(folder, 'withheld.key');
}

/**
 * Returns the identities in a text that may have other lines, such as a file of age, one on each line; undefined if it has
 * none. The first is encrypted to, and all decrypt: a key of an earlier data folder is added to the one that was made since.
 */
export function identityIn(text: string): string | undefined {
  return [...new Set(text.match(IDENTITY))].join('\n') || undefined;
}

export async function saveIdentity(folder: string, identity: string): Promise<void> {
  await writeFileDurably(withheldKeyFile(folder), `${identity}\n`, 0o600);
}

/** Returns the identities of a data folder, as `identityIn` does; undefined if it has none yet. @throws CopyError if the file has none */
export async function readIdentity(folder: string): Promise<string | undefined> {
  const file = withheldKeyFile(folder);
  const text = await orIfMissing(readFile(file, 'utf8'), undefined);
  if (text === undefined) return undefined;
  const identity = identityIn(text);
  if (identity !== undefined) return identity;
  throw new CopyError(`${file} is not an age identity. Put the file back from your backup.`);
}

/**
 * Encryption of texts to the owner's key of a data folder. Only encrypting makes a key where there is none.
 *
 * @throws Problem `owner_key_invalid`
 */
export function ownerEncryption(folder: string): OwnerEncryption {
  return {
    encrypt: async (text) => {
      const { recipient } = await withProblem(withheldKey(folder));
      return runAge<string>({ text, recipient });
    },
    decrypt: async (encrypted) => decryptTexts(encrypted, await withProblem(readIdentity(folder))),
  };
}

async function withProblem<Key>(reading: Promise<Key>): Promise<Key> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof CopyError) throw new Problem('owner_key_invalid', error.message, { cause: error });
    throw error;
  }
}

/** Decrypts texts; each is undefined if it is not encrypted to one of these identities. */
export async function decryptTexts(
  encrypted: readonly string[],
  identity: string | undefined,
): Promise<(string | undefined)[]> {
  if (identity === undefined) return encrypted.map(() => undefined);
  return runAge<(string | undefined)[]>({ encrypted, identity });
}

// Two copies may need the same at once.
const making = new Map<string, Promise<string>>();
const recipients = new Map<string, Promise<string>>();

/** Returns the owner's key of a data folder, which is generated when it is first needed. @throws CopyError */
export async function withheldKey(folder: string): Promise<WithheldKey> {
  const identity = (await readIdentity(folder)) ?? (await once(making, folder, () => make(folder)));
  const recipient = await once(recipients, identity, () => recipientOf(folder, identity));
  making.delete(folder);
  return { identity, recipient };
}

/** @throws CopyError if an identity has a wrong character: its last six are a checksum */
async function recipientOf(folder: string, identity: string): Promise<string> {
  try {
    return await runAge<string>({ recipientOf: identity });
  } catch (cause) {
    throw new CopyError(
      `A line of ${withheldKeyFile(folder)} has a wrong character. Put the line back from your backup.`,
      { cause },
    );
  }
}

async function make(folder: string): Promise<string> {
  // It may have been made a moment ago.
  const known = await readIdentity(folder);
  if (known !== undefined) return known;
  const identity = await runAge<string>({ generate: true });
  await saveIdentity(folder, identity);
  return identity;
}

const MAX_BYTES = 65_536;

/** The keys that a copy holds: that of the archive as PEM, and the identities that decrypt sealed findings, one on each line. */
interface KeptKeys {
  key: string;
  /** undefined if an earlier version put the key there. */
  identity: string | undefined;
  /** The digest of their file. */
  sha256: string;
}

/**
 * Writes the key of an archive, and the owner's key for sealed findings, into a copy, encrypted with a passphrase (age,
 * C2SP), and reads the file back. Returns the recipient of the latter.
 *
 * @throws CopyError, also if the key is not in the data folder
 */
export async function putKey(
  target: CopyTarget,
  archive: { folder: string; verifierKey: string },
  { passphrase, put }: { passphrase: string; put: (bytes: Buffer) => Promise<void> },
): Promise<string> {
  try {
    await readNodeKey(archive.folder, archive.verifierKey);
  } catch (cause) {
    if (cause instanceof NodeKeyError) throw new CopyError(cause.message, { cause });
    throw cause;
  }
  const pem = await readFile(keyFile(archive.folder), 'utf8');
  const { identity, recipient } = await withheldKey(archive.folder);
  const text = `${pem.trimEnd()}\n${identity}\n`;
  const bytes = Buffer.from(await runAge<Uint8Array>({ encrypt: text, passphrase }));
  await put(bytes);
  if (!(await readBytes(target, KEY, MAX_BYTES))?.equals(bytes))
    throw new CopyError(`The key could not be read back from ${target.name}. Try again.`);
  return recipient;
}

/**
 * Reads the keys of an archive from its copy.
 *
 * @throws CopyError if there is none, the passphrase is wrong, or it is another key
 */
export async function readKey(target: CopyTarget, passphrase: string): Promise<KeptKeys> {
  const bytes = await readBytes(target, KEY, MAX_BYTES);
  if (!bytes) throw new CopyError(`The copy in ${target.name} does not hold the key. Restore without --key.`);
  try {
    const text = await runAge<string>({ decrypt: bytes, passphrase });
    const identity = identityIn(text);
    const key = identity === undefined ? text : text.replace(`${identity}\n`, '');
    return { key, identity, sha256: hash('sha256', bytes) };
  } catch (cause) {
    throw new CopyError(`The passphrase is not that of the key in ${target.name}, or the key was altered.`, {
      cause,
    });
  }
}

/** Returns whether a private key is the one of this verifier key. @throws CopyError if it is none */
export function isKeyOf(pem: string, verifierKey: string, target: CopyTarget): boolean {
  try {
    return nodeKeyOf(keyNameOf(verifierKey), createPrivateKey(pem)).verifierKey === verifierKey;
  } catch (cause) {
    throw new CopyError(`The file of the key in ${target.name} does not contain a key.`, { cause });
  }
}

/** Resolves when the last task with a passphrase has ended. */
let lastPassphrase: Promise<unknown> = Promise.resolve();

/**
 * Runs age (C2SP) in a thread. To derive a key from a passphrase (scrypt with N = 2¹⁸ and r = 8, as age does) takes 256 MB on
 * purpose, until the thread ends. So one is derived at a time.
 *
 * @throws Error with the message of the library
 */
export function runAge<Result>(task: AgeTask, signal?: AbortSignal): Promise<Result> {
  const run = () => runInThread<Result>('runAge', task, { signal });
  if (!('passphrase' in task)) return run();
  const result = lastPassphrase.then(run);
  lastPassphrase = result.catch(() => undefined);
  return result;
}

/** Decrypts a file into another one. Returns whether it is encrypted to one of the identities and its bytes have the digest. */
export function decryptFile(file: AgeFile, identity: string, signal?: AbortSignal): Promise<boolean> {
  return runAge<boolean>({ file, identity }, signal);
}
