import { Problem } from '../../shared/problems.ts';
import { rehashBlobs } from '../hashing/hashFiles.ts';
import type { Store } from '../store/store.ts';
import { isDamaged } from './damages.ts';

/**
 * Holds back stored bytes that are known to be damaged: under their digest they would be taken, and kept by caches, for
 * what they are not. A file that was mended by hand and not looked at since is read now, and is sent if it is right.
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

/** What whoever asks for damaged bytes is told. */
export function damagedBlobProblem(): Problem {
  return new Problem(
    'blob_damaged',
    'These bytes are damaged here, as /api/damages tells, and are held back until right ones take their place.',
  );
}
