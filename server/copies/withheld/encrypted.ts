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

/** Returns those of these objects that a copy holds encrypted and that decrypt to their digest. @throws CopyError */
export async function readBackEncrypted(
  target: CopyTarget,
  digests: readonly string[],
  { folder, identity, signal }: Reading,
): Promise<string[]> {
  const files: { from: string; sha256: string }[] = [];
  try {
    for (const sha256 of digests) {
      const from = workingFile(folder);
      if (await fetchEncrypted(target, sha256, from, signal)) files.push({ from, sha256 });
    }
    const results = await runAgeFiles(files, { identity }, signal);
    return files.filter((_, index) => results[index] !== null).map(({ sha256 }) => sha256);
  } finally {
    for (const { from } of files) await rm(from, { force: true });
  }
}

/**
 * Decrypts an object of a copy into a file. Returns false, and leaves no file, if the copy does not hold it encrypted to
 * this identity.
 *
 * @throws CopyError
 */
export async function decryptInto(
  target: CopyTarget,
  sha256: string,
  to: string,
  { folder, identity, signal }: Reading,
): Promise<boolean> {
  const from = workingFile(folder);
  try {
    if (!(await fetchEncrypted(target, sha256, from, signal))) return false;
    const [result] = await runAgeFiles([{ from, to, sha256 }], { identity }, signal);
    if (result) return true;
    await rm(to, { force: true });
    return false;
  } finally {
    await rm(from, { force: true });
  }
}

/** Yields an object that a copy holds encrypted; undefined if it does not. The bytes have the digest. @throws CopyError */
export async function readEncrypted(
  target: CopyTarget,
  sha256: string,
  reading: Reading,
): Promise<AsyncGenerator<Buffer> | undefined> {
  const file = workingFile(reading.folder);
  if (!(await decryptInto(target, sha256, file, reading))) return undefined;
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
