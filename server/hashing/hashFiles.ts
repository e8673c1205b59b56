import { createHash } from 'node:crypto';
import { Problem } from '../../shared/problems.ts';
import { runInThread } from '../runtime/runInThread.ts';
import { WorkCoalescer } from '../runtime/workCoalescer.ts';
import { type BlobStore, isUnreadable } from '../store/blobs/blobStore.ts';
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
