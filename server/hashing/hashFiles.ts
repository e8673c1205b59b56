import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { Problem } from '../../shared/problems.ts';
import { WorkCoalescer } from '../runtime/concurrency.ts';
import { runInThread } from '../runtime/threads.ts';
import { type BlobStore, isMissing, isUnreadable } from '../store/blobs/blobStore.ts';
import { digestOf } from '../store/files.ts';

/** Hashing less than this takes less time than starting a thread. */
const INLINE_BYTES = 4_194_304;

/** A blob and its recorded size. */
interface NamedBlob {
  sha256: string;
  bytes: number;
}

/**
 * Reads stored blobs again and hashes them; many bytes in a worker thread, so that the event loop is not blocked. A blob
 * that is offloaded is read from a copy.
 *
 * @returns the actual digest for each blob, null if its file is missing or unreadable, or every copy of it is damaged.
 * @throws Problem `copy_unreachable`
 */
export async function rehashBlobs(blobs: BlobStore, named: readonly NamedBlob[]): Promise<Found> {
  const all = [...new Set(named.map(({ sha256 }) => sha256))];
  const offloaded: string[] = [];
  for (const sha256 of all) if (await blobs.offloaded.isOffloaded(sha256)) offloaded.push(sha256);
  const digests = offloaded.length === 0 ? all : all.filter((sha256) => !offloaded.includes(sha256));
  const found = await rehashFiles(blobs, digests, bytesOf(named));
  // One may have left this disk meanwhile.
  for (const sha256 of digests)
    if (found.get(sha256) === null && (await blobs.offloaded.isOffloaded(sha256))) offloaded.push(sha256);
  for (const sha256 of offloaded) found.set(sha256, await rehashRemotely(blobs, sha256));
  return found;
}

async function rehashRemotely({ offloaded }: BlobStore, sha256: string): Promise<string | null> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of offloaded.stream(sha256)) hash.update(chunk);
    return hash.digest('hex');
  } catch (error) {
    if (error instanceof Problem && error.code === 'blob_damaged') return null;
    throw error;
  }
}

async function rehashFiles(blobs: BlobStore, digests: readonly string[], bytes: number): Promise<Found> {
  const found: (string | null)[] = [];
  if (bytes <= INLINE_BYTES) {
    for (const sha256 of digests) found.push(await rehashInline(blobs, sha256));
  } else {
    const files = digests.map((sha256) => blobs.fileOf(sha256));
    found.push(...(await runInThread<(string | null)[]>('hashFiles', files)));
  }
  return new Map(digests.map((sha256, index) => [sha256, found[index] ?? null]));
}

async function rehashInline(blobs: BlobStore, sha256: string): Promise<string | null> {
  try {
    return (await digestOf(blobs.fileOf(sha256))) ?? null;
  } catch (error) {
    if (isUnreadable(error)) return null;
    throw error;
  }
}

/** The number of threads that hash for readers. */
const READER_THREADS = 2;

type Found = Map<string, string | null>;
const forReaders = new WeakMap<BlobStore, WorkCoalescer<Found>>();

/** Like `rehashBlobs`, for requests of readers: at most two threads run, and waiting requests for the same blobs share one. */
export function rehashForReader(blobs: BlobStore, named: readonly NamedBlob[]): Promise<Found> {
  if (bytesOf(named) <= INLINE_BYTES) return rehashBlobs(blobs, named);
  let shared = forReaders.get(blobs);
  if (!shared) forReaders.set(blobs, (shared = new WorkCoalescer(READER_THREADS)));
  return shared.run(named.map(({ sha256 }) => sha256).join(), () => rehashBlobs(blobs, named));
}

/** The number of bytes to hash, counting each blob once. */
function bytesOf(named: readonly NamedBlob[]): number {
  const sizes = new Map(named.map(({ sha256, bytes }) => [sha256, bytes] as const));
  return [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
}

/** What stored blobs are one after the other. */
export interface JoinedDigest {
  /** The digest of all their bytes; null if one of them is missing or unreadable. */
  sha256: string | null;
  crc: number;
  /** The digest of each; null if it is missing or unreadable. */
  blobs: (string | null)[];
}

/** The number of threads that hash sets. */
const THREADS = 2;
/** Hashing less than this takes less time than starting a thread. */
const INLINE_JOINED_BYTES = 1_048_576;
const forSets = new WeakMap<BlobStore, WorkCoalescer<JoinedDigest[]>>();

/**
 * Hashes stored blobs joined one after the other; many bytes in a thread. One that is offloaded is read from a copy.
 *
 * @throws Problem `copy_unreachable`
 */
export async function hashJoined(
  blobs: BlobStore,
  joined: readonly (readonly NamedBlob[])[],
): Promise<JoinedDigest[]> {
  const bytes = joined.flat().reduce((sum, blob) => sum + blob.bytes, 0);
  if (bytes <= INLINE_JOINED_BYTES) return hashEach(joined, (each) => hashInline(blobs, each));
  let shared = forSets.get(blobs);
  if (!shared) forSets.set(blobs, (shared = new WorkCoalescer(THREADS)));
  const name = joined.map((each) => each.map(({ sha256 }) => sha256).join()).join(';');
  return shared.run(name, () => hashInThread(blobs, joined));
}

async function hashEach(
  joined: readonly (readonly NamedBlob[])[],
  hash: (each: readonly NamedBlob[]) => Promise<JoinedDigest>,
): Promise<JoinedDigest[]> {
  const found: JoinedDigest[] = [];
  for (const each of joined) found.push(await hash(each));
  return found;
}

async function hashInThread(
  blobs: BlobStore,
  joined: readonly (readonly NamedBlob[])[],
): Promise<JoinedDigest[]> {
  const remote = new Set<readonly NamedBlob[]>();
  for (const each of joined) if (await isOffloaded(blobs, each)) remote.add(each);
  const here = joined.filter((each) => !remote.has(each));
  const files = here.map((each) => each.map(({ sha256 }) => blobs.fileOf(sha256)));
  const hashed = await runInThread<JoinedDigest[]>('hashJoined', files);
  const found = new Map(here.map((each, index) => [each, hashed[index]]));
  return hashEach(joined, async (each) => found.get(each) ?? hashInline(blobs, each));
}

async function isOffloaded({ offloaded }: BlobStore, each: readonly NamedBlob[]): Promise<boolean> {
  for (const { sha256 } of each) if (await offloaded.isOffloaded(sha256)) return true;
  return false;
}

async function hashInline(blobs: BlobStore, each: readonly NamedBlob[]): Promise<JoinedDigest> {
  const all = createHash('sha256');
  const found: (string | null)[] = [];
  let crc = 0;
  for (const { sha256 } of each) {
    const hash = createHash('sha256');
    try {
      for await (const chunk of blobs.offloaded.read(sha256)) {
        hash.update(chunk);
        all.update(chunk);
        crc = crc32(chunk, crc);
      }
      found.push(hash.digest('hex'));
    } catch (error) {
      const isDamaged = error instanceof Problem && error.code === 'blob_damaged';
      if (!isDamaged && !isMissing(error) && !isUnreadable(error)) throw error;
      found.push(null);
    }
  }
  return { sha256: found.includes(null) ? null : all.digest('hex'), crc, blobs: found };
}

/** Does the work of `rehashBlobs` in the thread that calls it. */
export function digestsOfFiles(files: readonly string[]): (string | null)[] {
  return files.map((path) => {
    const hash = createHash('sha256');
    return readWhole(path, (chunk) => hash.update(chunk)) ? hash.digest('hex') : null;
  });
}

/** Does the work of `hashJoined` in the thread that calls it. */
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

/** Fits into the cache of a core, as in `hashInThreads.ts`. */
const READ_BYTES = 262_144;
let buffer: Buffer | undefined;

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
