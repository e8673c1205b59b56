import type { StagedBlob, WriteVia } from '../store/blobs/blobStore.ts';
import { setAside } from '../store/blobs/setAside.ts';
import type { Store } from '../store/store.ts';
import { isDamaged, recordIntact } from './damages.ts';

/**
 * Puts bytes on stable storage under their name: the one way in for all that may be damaged there. Where it is known to
 * be, the damaged bytes are set aside first and the damage is recorded to have ended. The caller names the blob in a row.
 */
export async function storeWithRepair(
  store: Pick<Store, 'read' | 'write' | 'instant' | 'blobs' | 'folder'>,
  staged: StagedBlob,
  by?: WriteVia,
): Promise<void> {
  const { sha256 } = staged;
  const isMending = isDamaged(store.read, sha256);
  if (isMending) await setAside(store.folder, sha256);
  await staged.keep(by);
  if (isMending) await store.write((database) => recordIntact(database, sha256, store.instant()));
}
