import { buffer } from 'node:stream/consumers';
import { type BlobStore, isMissing, isUnreadable } from '../blobStore.ts';

/**
 * Returns the first bytes of a blob, or undefined if it is missing or cannot be read. Sending it then reports the error.
 *
 * @throws Problem `copy_unreachable`, `blob_damaged` for a blob that has left this disk
 */
export async function startOfBlob(
  blobs: Pick<BlobStore, 'read'>,
  sha256: string,
  bytes: number,
): Promise<Uint8Array | undefined> {
  try {
    return await buffer(blobs.read(sha256, { start: 0, end: bytes - 1 }));
  } catch (error) {
    if (isMissing(error) || isUnreadable(error)) return undefined;
    throw error;
  }
}
