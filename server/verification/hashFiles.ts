import { type FileToHash, type HashedFile, hashFileSync } from '../hashing/hashFileSync.ts';
import { hashInThreads } from '../hashing/hashInThreads.ts';

/** Hashing so little takes less time than starting two threads. */
const SMALL_FILES = 200;
const SMALL_BYTES = 33_554_432;

/**
 * Hashes files, large sets in threads, and yields the results in batches, in the order of the files. A file that cannot be read has
 * a `failure` instead of digests.
 *
 * @param onProgress called with the number of bytes since the last call
 */
export async function* hashFiles(
  files: readonly (FileToHash & { bytes: number })[],
  onProgress: (bytes: number) => void = () => {},
): AsyncGenerator<HashedFile[]> {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  if (files.length > SMALL_FILES || bytes > SMALL_BYTES) return yield* hashInThreads(files, onProgress);
  for (const file of files) yield [hashFileSync(file, onProgress)];
}
