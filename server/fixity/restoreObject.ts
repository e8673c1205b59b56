import { TooManyBytesError } from '../store/blobs/blobStore.ts';
import { blobBytes } from '../store/sqlite/node/blobs.ts';
import type { Store } from '../store/store.ts';
import { storeWithRepair } from './storeWithRepair.ts';

/**
 * Puts an object from elsewhere into this archive, which has its row. Returns false, and keeps nothing, if the bytes do not
 * have the digest.
 *
 * @throws the stream's errors
 */
export async function restoreObject(
  store: Store,
  sha256: string,
  stream: AsyncIterable<Buffer>,
): Promise<boolean> {
  let staged: Awaited<ReturnType<Store['blobs']['staging']['stage']>>;
  try {
    staged = await store.blobs.staging.stage(stream, blobBytes(store.read, sha256) ?? 0);
  } catch (error) {
    if (error instanceof TooManyBytesError) return false;
    throw error;
  }
  try {
    if (staged.sha256 !== sha256) return false;
    await storeWithRepair(store, staged);
    return true;
  } finally {
    await staged.discard();
  }
}
