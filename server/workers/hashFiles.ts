import type { BlobStore } from '../store/blobs/blobStore.ts';
import { runWorker } from './runWorker.ts';

/** Up to this much is hashed sooner than a thread starts. */
const HERE_BYTES = 4_194_304;

/**
 * Re-reads stored blobs and hashes them: large ones in a worker thread, so that requests go on meanwhile.
 *
 * @returns the digest of the bytes that lie under each name, null where there is no such file.
 */
export async function rehashBlobs(
  blobs: BlobStore,
  named: readonly { sha256: string; bytes: number }[],
): Promise<Map<string, string | null>> {
  const sizes = new Map(named.map(({ sha256, bytes }) => [sha256, bytes] as const));
  const digests = [...sizes.keys()];
  const total = [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
  const found: (string | null)[] = [];
  if (total <= HERE_BYTES) {
    for (const sha256 of digests) found.push((await blobs.rehash(sha256)) ?? null);
  } else {
    const files = digests.map((sha256) => blobs.fileOf(sha256));
    found.push(...(await runWorker<(string | null)[]>('hashFiles', { files })));
  }
  return new Map(digests.map((sha256, index) => [sha256, found[index] ?? null]));
}
