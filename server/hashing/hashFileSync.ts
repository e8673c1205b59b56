import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';

/** A file that was hashed, or why it could not be. */
export type HashedFile =
  | { path: string; bytes: number; digests: Record<string, string> }
  | { path: string; failure: string };

export interface FileToHash {
  path: string;
  /** By the names that Node has for them. */
  algorithms: readonly string[];
}

/** The fastest size of a read. */
const READ_BYTES = 1_048_576;

/** Hashes a file; `tell` hears how many bytes were read since it was last told. Never throws for what the disk says. */
export function hashFileSync({ path, algorithms }: FileToHash, tell: (bytes: number) => void): HashedFile {
  try {
    return { path, ...hashOpenFile(path, algorithms, tell) };
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error;
    return { path, failure: String(error.code) };
  }
}

function hashOpenFile(path: string, algorithms: readonly string[], tell: (bytes: number) => void) {
  const hashes = algorithms.map((algorithm) => [algorithm, createHash(algorithm)] as const);
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  const descriptor = openSync(path, 'r');
  let bytes = 0;
  try {
    for (;;) {
      const read = readSync(descriptor, buffer, 0, buffer.length, null);
      if (read === 0) break;
      for (const [, hash] of hashes) hash.update(buffer.subarray(0, read));
      bytes += read;
      tell(read);
    }
  } finally {
    closeSync(descriptor);
  }
  return { bytes, digests: Object.fromEntries(hashes.map(([name, hash]) => [name, hash.digest('hex')])) };
}
