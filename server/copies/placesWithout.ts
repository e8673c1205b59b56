import { restoreObject } from '../fixity/damages.ts';
import { rehashBlobs } from '../hashing/hashFiles.ts';
import { blobBytes } from '../store/sqlite/node/blobs.ts';
import { isCheckedElsewhere } from '../store/sqlite/node/offloadedObjects.ts';
import type { Store } from '../store/store.ts';
import { bringBackIfRead } from './offload/markLost.ts';
import { CopyError } from './targets/target.ts';

/**
 * Returns those of these objects that a copy may lose, because their bytes have another place: this disk, on which they
 * are hashed, or else a copy that was checked. What is in neither is brought here first, if the copy gives it.
 *
 * @param fetch reads an object of the copy; undefined if it cannot be read there
 */
export async function placesWithout(
  store: Store,
  { copy, digests }: { copy: string; digests: readonly string[] },
  fetch: (sha256: string) => Promise<AsyncIterable<Buffer> | undefined>,
): Promise<Set<string>> {
  const { read, blobs } = store;
  const here: { sha256: string; bytes: number }[] = [];
  for (const sha256 of digests)
    if (!(await blobs.offloaded.isOffloaded(sha256)))
      here.push({ sha256, bytes: blobBytes(read, sha256) ?? 0 });
  const found = await rehashBlobs(blobs, here);
  const safe = new Set<string>();
  for (const sha256 of digests) {
    const isSafe =
      found.get(sha256) === sha256 ||
      isCheckedElsewhere(read, { copy, sha256 }) ||
      (await isRestored(store, sha256, fetch));
    if (isSafe) safe.add(sha256);
  }
  return safe;
}

async function isRestored(
  store: Store,
  sha256: string,
  fetch: (sha256: string) => Promise<AsyncIterable<Buffer> | undefined>,
): Promise<boolean> {
  try {
    const stream = await fetch(sha256);
    if (stream && (await restoreObject(store, sha256, stream))) return true;
  } catch (error) {
    // One that cannot be read there stays, and keeps no other.
    if (!(error instanceof CopyError)) throw error;
  }
  const isOffloaded = await store.blobs.offloaded.isOffloaded(sha256);
  return isOffloaded && (await bringBackIfRead(store, sha256));
}
