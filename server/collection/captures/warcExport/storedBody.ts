import { createHash } from 'node:crypto';
import { isMissing, isUnreadable } from '../../../store/blobs/blobStore.ts';
import type { ReadDatabase } from '../../../store/sqlite/engine/open.ts';
import { blobBytes } from '../../../store/sqlite/node/blobs.ts';
import type { Store } from '../../../store/store.ts';

/** The verified bytes of an object. */
export interface StoredBody {
  bytes: number;
  chunks(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/** Objects up to this size are kept in memory between hashing and writing; larger ones are read twice. */
const HELD_BYTES = 1_048_576;

/**
 * Reads an object and hashes it, both alone and together with the head that precedes it: the digest of a block is
 * written before the block.
 *
 * @returns undefined if the bytes are missing, unreadable or no longer match the digest.
 */
export async function readStoredBody(
  { blobs }: Pick<Store, 'blobs'>,
  database: ReadDatabase,
  sha256: string,
  headOf: (bytes: number) => Buffer,
): Promise<{ body: StoredBody; head: Buffer; blockDigest: string } | undefined> {
  const bytes = blobBytes(database, sha256);
  if (bytes === undefined) return undefined;
  const read = () => blobs.read(sha256);
  const head = headOf(bytes);
  const [payload, block] = [createHash('sha256'), createHash('sha256').update(head)];
  const held: Uint8Array[] = [];
  try {
    for await (const chunk of read()) {
      payload.update(chunk);
      block.update(chunk);
      if (bytes <= HELD_BYTES) held.push(chunk);
    }
  } catch (error) {
    if (isMissing(error) || isUnreadable(error)) return undefined;
    throw error;
  }
  if (payload.digest('hex') !== sha256) return undefined;
  const body = { bytes, chunks: () => (bytes <= HELD_BYTES ? held : read()) };
  return { body, head, blockDigest: block.digest('hex') };
}
