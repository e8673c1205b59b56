import { Problem } from '../../shared/problems.ts';
import { rehashBlobs } from '../hashing/hashFiles.ts';
import type { Store } from '../store/store.ts';
import { isDamaged } from './damages.ts';

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
export function damagedBlobProblem(): Problem {
  return new Problem(
    'blob_damaged',
    'These bytes are damaged on this node (see /api/damages) and are withheld until they are repaired.',
  );
}
