import { type FileToHash, type HashedFile, hashFileSync } from '../hashing/hashFileSync.ts';
import { hashInThreads } from '../hashing/hashInThreads.ts';

/** Sets of this size are hashed sooner than two threads start. */
const SMALL_FILES = 200;
const SMALL_BYTES = 33_554_432;

/**
 * Hashes files, a large set in threads, and gives them in their order. What cannot be read is given with why. `tell`
 * hears how many bytes were read since it was last told.
 */
export async function* hashFiles(
  files: readonly (FileToHash & { bytes: number })[],
  tell: (bytes: number) => void = () => {},
): AsyncGenerator<HashedFile> {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  if (files.length > SMALL_FILES || bytes > SMALL_BYTES) return yield* hashInThreads(files, tell);
  for (const file of files) yield hashFileSync(file, tell);
}
