import { createHash, hash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { errorCode } from '../../shared/values/errorCode.ts';
import { isMissing, isUnreadable } from '../store/files.ts';

/** The digests of a file, or the error code if it could not be read. */
export type HashedFile =
  | { path: string; bytes: number; digests: Record<string, string> }
  | { path: string; failure: string };

export interface FileToHash {
  path: string;
  /** Node's names of the hash algorithms. */
  algorithms: readonly string[];
}

/** Fits into the cache of a core. With reads of 1 MiB, a large file took a third more processor time. */
const READ_BYTES = 262_144;
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
  buffer ??= Buffer.allocUnsafeSlow(READ_BYTES);
  const descriptor = openSync(path, 'r');
  try {
    const first = fill(descriptor, buffer);
    onRead(first);
    if (first === buffer.length) return hashLongFile(descriptor, algorithms, onRead);
    // Hashing at once costs a third of what a `Hash` object costs for a small file.
    const content = buffer.subarray(0, first);
    const digests: Record<string, string> = {};
    for (const algorithm of algorithms) digests[algorithm] = hash(algorithm, content, 'hex');
    return { bytes: first, digests };
  } finally {
    closeSync(descriptor);
  }
}

/** Hashes a file whose first bytes are in the full buffer. */
function hashLongFile(descriptor: number, algorithms: readonly string[], onRead: (bytes: number) => void) {
  const hashes = algorithms.map((algorithm) => [algorithm, createHash(algorithm)] as const);
  const block = buffer as Buffer;
  let bytes = 0;
  for (let read = block.length; read > 0; ) {
    for (const [, each] of hashes) each.update(block.subarray(0, read));
    bytes += read;
    read = readSync(descriptor, block, 0, block.length, null);
    onRead(read);
  }
  return { bytes, digests: Object.fromEntries(hashes.map(([name, each]) => [name, each.digest('hex')])) };
}

/** Reads until the buffer is full or the file ends, and returns the number of bytes. */
export function fill(descriptor: number, into: Buffer): number {
  let length = 0;
  while (length < into.length) {
    const read = readSync(descriptor, into, length, into.length - length, null);
    if (read === 0) break;
    length += read;
  }
  return length;
}

/** Returns the SHA-256 of each file; null if it is missing or unreadable. */
export function digestsOfFiles(files: readonly string[]): (string | null)[] {
  return files.map((path) => {
    const hashing = createHash('sha256');
    return readWhole(path, (chunk) => hashing.update(chunk)) ? hashing.digest('hex') : null;
  });
}

/** What stored blobs are one after the other. */
export interface JoinedDigest {
  /** The digest of all their bytes; null if one of them is missing or unreadable. */
  sha256: string | null;
  crc: number;
  /** The digest of each; null if it is missing or unreadable. */
  blobs: (string | null)[];
}

/** Hashes files as if each list of them were one file. */
export function hashJoinedFiles(lists: readonly (readonly string[])[]): JoinedDigest[] {
  return lists.map((joined) => {
    const all = createHash('sha256');
    const blobs: (string | null)[] = [];
    let crc = 0;
    for (const file of joined) {
      // The digest of a single file is that of all.
      const each = joined.length > 1 ? createHash('sha256') : undefined;
      const isRead = readWhole(file, (chunk) => {
        all.update(chunk);
        each?.update(chunk);
        crc = crc32(chunk, crc);
      });
      blobs.push(isRead ? (each?.digest('hex') ?? '') : null);
    }
    const sha256 = blobs.includes(null) ? null : all.digest('hex');
    return { sha256, crc, blobs: joined.length > 1 ? blobs : blobs.map(() => sha256) };
  });
}

/** Reads a file, and returns whether all of it could be read. */
function readWhole(path: string, receive: (chunk: Buffer) => void): boolean {
  buffer ??= Buffer.allocUnsafeSlow(READ_BYTES);
  try {
    const descriptor = openSync(path, 'r');
    try {
      for (;;) {
        const read = readSync(descriptor, buffer, 0, buffer.length, null);
        if (read === 0) return true;
        receive(buffer.subarray(0, read));
      }
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (isMissing(error) || isUnreadable(error)) return false;
    throw error;
  }
}
