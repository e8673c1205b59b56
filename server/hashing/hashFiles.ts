import { runWorker, workerUrl } from '../runtime/runWorker.ts';
import { WorkCoalescer } from '../runtime/workCoalescer.ts';
import { type BlobStore, isUnreadable } from '../store/blobs/blobStore.ts';

/** Up to this much is hashed sooner than a thread starts. */
const HERE_BYTES = 4_194_304;

/** A blob, and how long it is said to be. */
interface NamedBlob {
  sha256: string;
  bytes: number;
}

/**
 * Re-reads stored blobs and hashes them: large ones in a worker thread, so that requests go on meanwhile.
 *
 * @returns the digest of the bytes that lie under each name, null where there is none that can be read.
 */
export async function rehashBlobs(blobs: BlobStore, named: readonly NamedBlob[]): Promise<Found> {
  const digests = [...new Set(named.map(({ sha256 }) => sha256))];
  const found: (string | null)[] = [];
  if (bytesOf(named) <= HERE_BYTES) {
    for (const sha256 of digests) found.push(await rehashHere(blobs, sha256));
  } else {
    const files = digests.map((sha256) => blobs.fileOf(sha256));
    found.push(...(await runWorker<(string | null)[]>(workerUrl('hashFiles', import.meta.url), { files })));
  }
  return new Map(digests.map((sha256, index) => [sha256, found[index] ?? null]));
}

async function rehashHere(blobs: BlobStore, sha256: string): Promise<string | null> {
  try {
    return (await blobs.rehash(sha256)) ?? null;
  } catch (error) {
    if (isUnreadable(error)) return null;
    throw error;
  }
}

/** So many threads hash for readers at once, however many ask. */
const MOST_FOR_READERS = 2;

type Found = Map<string, string | null>;
const forReaders = new WeakMap<BlobStore, WorkCoalescer<Found>>();

/** The same for whoever may read: who asks for the same large blobs while they wait for a thread shares it. */
export function rehashForReader(blobs: BlobStore, named: readonly NamedBlob[]): Promise<Found> {
  if (bytesOf(named) <= HERE_BYTES) return rehashBlobs(blobs, named);
  let shared = forReaders.get(blobs);
  if (!shared) forReaders.set(blobs, (shared = new WorkCoalescer(MOST_FOR_READERS)));
  return shared.run(named.map(({ sha256 }) => sha256).join(), () => rehashBlobs(blobs, named));
}

/** How much there is to hash, each blob once. */
function bytesOf(named: readonly NamedBlob[]): number {
  const sizes = new Map(named.map(({ sha256, bytes }) => [sha256, bytes] as const));
  return [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
}
