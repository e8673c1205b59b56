import { randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { temporaryFolder } from '../../store/files.ts';
import { encryptedPath } from '../copyPaths.ts';
import { runAgeFiles } from '../keys/age.ts';
import type { CopyTarget } from '../targets/target.ts';

/** Returns a name for a working file of a data folder. Each start of a node removes those that are left. */
export function workingFile(folder: string): string {
  return join(temporaryFolder(folder), `withheld-${randomBytes(12).toString('hex')}`);
}

interface Reading {
  /** The data folder, for working files. */
  folder: string;
  identity: string;
  signal?: AbortSignal | undefined;
}

/** An object of a copy, and the file that it is decrypted into; without one, it is only checked. */
interface Encrypted {
  sha256: string;
  to?: string;
}

/**
 * Decrypts objects of a copy in one thread. Returns those that the copy holds encrypted to this identity and that have
 * their digest. No file of the others is left.
 *
 * @throws CopyError
 */
export async function decryptObjects(
  target: CopyTarget,
  objects: readonly Encrypted[],
  { folder, identity, signal }: Reading,
): Promise<Set<string>> {
  const files: (Encrypted & { from: string })[] = [];
  const decrypted = new Set<string>();
  try {
    for (const object of objects) {
      const from = workingFile(folder);
      files.push({ ...object, from });
      if (!(await fetchEncrypted(target, object.sha256, from, signal))) files.pop();
    }
    const results = await runAgeFiles(files, { identity }, signal);
    for (const [index, { sha256 }] of files.entries()) if (results[index]) decrypted.add(sha256);
    return decrypted;
  } finally {
    for (const { sha256, from, to } of files) {
      await rm(from, { force: true });
      if (to !== undefined && !decrypted.has(sha256)) await rm(to, { force: true });
    }
  }
}

/** Yields an object that a copy holds encrypted; undefined if it does not. The bytes have the digest. @throws CopyError */
export async function readEncrypted(
  target: CopyTarget,
  sha256: string,
  reading: Reading,
): Promise<AsyncGenerator<Buffer> | undefined> {
  const file = workingFile(reading.folder);
  if ((await decryptObjects(target, [{ sha256, to: file }], reading)).size === 0) return undefined;
  return (async function* () {
    try {
      yield* createReadStream(file) as AsyncIterable<Buffer>;
    } finally {
      await rm(file, { force: true });
    }
  })();
}

async function fetchEncrypted(
  target: CopyTarget,
  sha256: string,
  to: string,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const stream = await target.read(encryptedPath(sha256), signal);
  if (!stream) return false;
  await pipeline(stream, createWriteStream(to, { mode: 0o600 }), { signal });
  return true;
}
