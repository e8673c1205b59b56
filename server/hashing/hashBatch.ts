import type { FileToHash, HashedFile } from './hashFileSync.ts';

/** A file to hash, and its size when it was found. */
export type SizedFile = FileToHash & { bytes: number };

/** Files for a thread, which all need the same digests. */
export interface HashBatch {
  /** The index of the first file. */
  start: number;
  count: number;
  /** The sum of the sizes found before they were read. */
  bytes: number;
  /** Joined by zero bytes, which no path contains. */
  paths: string;
  algorithms: readonly string[];
}

/**
 * The results of a batch, as few values as possible: copying an object for each small file to another thread takes about
 * as long as hashing the file.
 */
export interface HashedBatch {
  /** The bytes read since the last message. */
  read: number;
  start: number;
  sizes: number[];
  /** The digests of all files in the order of the algorithms, joined by spaces; empty for a file that could not be read. */
  digests: string;
  /** The error codes of files that could not be read, by their place in the batch. */
  failures: Record<number, string>;
}

/** A batch ends at either limit. A message for each small file would take longer than hashing it. */
export const BATCH_FILES = 256;
export const BATCH_BYTES = 1_048_576;

/** Returns the files of the next batch; its length is 0 at the end. */
export function batchFrom(files: readonly SizedFile[], start: number): HashBatch {
  const paths: string[] = [];
  const algorithms = files[start]?.algorithms ?? [];
  const wanted = algorithms.join();
  let bytes = 0;
  while (paths.length < BATCH_FILES && bytes < BATCH_BYTES) {
    const file = files[start + paths.length];
    if (!file || (file.algorithms !== algorithms && file.algorithms.join() !== wanted)) break;
    paths.push(file.path);
    bytes += file.bytes;
  }
  return { start, count: paths.length, bytes, paths: paths.join('\0'), algorithms };
}

export function pathsOf(paths: string): string[] {
  return paths.split('\0');
}

export function packBatch(
  hashed: readonly HashedFile[],
  algorithms: readonly string[],
): Pick<HashedBatch, 'sizes' | 'digests' | 'failures'> {
  const failures: Record<number, string> = {};
  const sizes: number[] = [];
  const digests: string[] = [];
  for (const [index, file] of hashed.entries()) {
    if ('failure' in file) failures[index] = file.failure;
    sizes.push('failure' in file ? 0 : file.bytes);
    for (const algorithm of algorithms)
      digests.push('failure' in file ? '' : (file.digests[algorithm] ?? ''));
  }
  return { sizes, digests: digests.join(' '), failures };
}

export function unpackBatch(
  { paths, algorithms }: Pick<HashBatch, 'paths' | 'algorithms'>,
  { sizes, digests, failures }: Pick<HashedBatch, 'sizes' | 'digests' | 'failures'>,
): HashedFile[] {
  const each = digests.split(' ');
  return pathsOf(paths).map((path, index) => {
    const failure = failures[index];
    if (failure !== undefined) return { path, failure };
    const own: Record<string, string> = {};
    for (const [place, algorithm] of algorithms.entries())
      own[algorithm] = each[index * algorithms.length + place] ?? '';
    return { path, bytes: sizes[index] ?? 0, digests: own };
  });
}
