import { createHash } from 'node:crypto';
import { TooManyBytesError } from '../../store/blobs/blobStore.ts';

/** Hashes and counts a body without storing it. @throws TooManyBytesError. */
export async function hashBody(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<{ sha256: string; bytes: number }> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new TooManyBytesError(maxBytes);
    hash.update(chunk);
  }
  return { sha256: hash.digest('hex'), bytes };
}
