import { type HashedFile, hashFileSync, hashInThreads, type SizedFile } from '../hashing/hashInThreads.ts';

/** Hashing so little takes less time than starting two threads. */
const SMALL_FILES = 200;
const SMALL_BYTES = 33_554_432;

/**
 * Hashes files, large sets in threads, and yields the results in batches, in the order of the files. A file that cannot
 * be read has a `failure` instead of digests.
 *
 * @param source files as they are found; many are hashed while more are looked for
 * @param onProgress called with the number of bytes since the last call
 */
export async function* hashFiles(
  source: Iterable<readonly SizedFile[]> | AsyncIterable<readonly SizedFile[]>,
  onProgress: (bytes: number) => void = () => {},
): AsyncGenerator<HashedFile[]> {
  const first: SizedFile[] = [];
  let bytes = 0;
  const rest = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  for (let next = await rest.next(); !next.done; next = await rest.next()) {
    for (const file of next.value) {
      first.push(file);
      bytes += file.bytes;
    }
    if (first.length > SMALL_FILES || bytes > SMALL_BYTES)
      return yield* hashInThreads(startingWith(first, rest), onProgress);
  }
  if (first.length > 0) yield first.map((file) => hashFileSync(file, onProgress));
}

async function* startingWith(
  first: readonly SizedFile[],
  rest: Iterator<readonly SizedFile[]> | AsyncIterator<readonly SizedFile[]>,
): AsyncGenerator<readonly SizedFile[]> {
  yield first;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}
