import { Problem } from '../../shared/problems.ts';
import { rehashBlobs } from '../hashing/hashFiles.ts';
import { type StagedBlob, TooManyBytesError } from '../store/blobs/blobStore.ts';
import { setAside } from '../store/blobs/lostAndFound.ts';
import { blobBytes } from '../store/sqlite/node/blobs.ts';
import { forgetOffloaded } from '../store/sqlite/node/offloadedObjects.ts';
import { deleteAbsent, isAbsent } from '../store/sqlite/node/peers.ts';
import { isReleased } from '../store/sqlite/node/withheld.ts';
import type { Store } from '../store/store.ts';
import { isDamaged, recordIntact } from './damages.ts';

/**
 * Puts a staged blob on stable storage, unless its bytes were given up. If the blob is recorded as damaged, the damaged
 * file is set aside first and the repair is recorded. If it was offloaded, it is here again. The caller adds the row
 * that names the blob.
 */
export async function storeWithRepair(
  store: Pick<Store, 'read' | 'write' | 'instant' | 'blobs' | 'folder'>,
  staged: StagedBlob,
): Promise<void> {
  const { sha256 } = staged;
  const { offloaded } = store.blobs;
  if (isReleased(store.read, sha256)) return;
  if (offloaded.bytesOf(sha256) === undefined) return keep(store, staged);
  await offloaded.exclusively(sha256, async () => {
    await keep(store, staged);
    await store.write((database) => forgetOffloaded(database, sha256));
  });
}

async function keep(
  store: Pick<Store, 'read' | 'write' | 'instant' | 'blobs' | 'folder'>,
  staged: StagedBlob,
): Promise<void> {
  const { sha256 } = staged;
  const isRepair = isDamaged(store.read, sha256);
  if (isRepair) await setAside(store.folder, sha256);
  await staged.keep();
  if (isAbsent(store.read, sha256)) await store.write((database) => deleteAbsent(database, sha256));
  if (isRepair) await store.write((database) => recordIntact(database, sha256, store.instant()));
}

/**
 * Puts an object from elsewhere into this archive, which has its row. Returns false, and keeps nothing, if the bytes do not
 * have the digest, or were given up.
 *
 * @throws the stream's errors
 */
export async function restoreObject(
  store: Store,
  sha256: string,
  stream: AsyncIterable<Buffer>,
): Promise<boolean> {
  if (isReleased(store.read, sha256)) return false;
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

/**
 * Withholds a blob that is recorded as damaged: clients and caches would store its bytes under a wrong digest. The file is
 * re-hashed first, and passes if it was repaired by hand since.
 *
 * @throws Problem `blob_damaged`
 */
export async function requireIntact(
  { read, blobs }: Pick<Store, 'read' | 'blobs'>,
  blob: { sha256: string; bytes: number },
): Promise<void> {
  if (!isDamaged(read, blob.sha256)) return;
  const found = await rehashBlobs(blobs, [blob]);
  if (found.get(blob.sha256) !== blob.sha256) throw damagedBlobProblem();
}

/** The problem in the response to a request for a damaged blob. */
function damagedBlobProblem(): Problem {
  return new Problem(
    'blob_damaged',
    'These bytes are damaged on this node (see /api/damages) and are not served until they are repaired.',
  );
}
