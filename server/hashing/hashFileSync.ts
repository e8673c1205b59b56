import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { errorCode } from '../../shared/values/errorCode.ts';

/** The digests of a file, or the error code if it could not be read. */
export type HashedFile =
  | { path: string; bytes: number; digests: Record<string, string> }
  | { path: string; failure: string };

export interface FileToHash {
  path: string;
  /** Node's names of the hash algorithms. */
  algorithms: readonly string[];
}

/** Larger reads are no faster. */
const READ_BYTES = 1_048_576;
/** Reused for all files: allocating it takes longer than hashing a small file. Each thread has its own. */
let buffer: Buffer | undefined;

/** Hashes a file. Calls `onRead` with the number of bytes of each read. Returns file system errors as `failure`. */
export function hashFileSync({ path, algorithms }: FileToHash, onRead: (bytes: number) => void): HashedFile {
  try {
    return { path, ...hashOpenFile(path, algorithms, onRead) };
  } catch (error) {
    const failure = errorCode(error);
    if (failure === undefined) throw error;
    return { path, failure };
  }
}

function hashOpenFile(path: string, algorithms: readonly string[], onRead: (bytes: number) => void) {
  const hashes = algorithms.map((algorithm) => [algorithm, createHash(algorithm)] as const);
  buffer ??= Buffer.allocUnsafeSlow(READ_BYTES);
  const descriptor = openSync(path, 'r');
  let bytes = 0;
  try {
    for (;;) {
      const read = readSync(descriptor, buffer, 0, buffer.length, null);
      if (read === 0) break;
      for (const [, hash] of hashes) hash.update(buffer.subarray(0, read));
      bytes += read;
      onRead(read);
    }
  } finally {
    closeSync(descriptor);
  }
  return { bytes, digests: Object.fromEntries(hashes.map(([name, hash]) => [name, hash.digest('hex')])) };
}
