import type { StagedBlob, WriteVia } from '../store/blobs/blobStore.ts';
import { setAside } from '../store/blobs/setAside.ts';
import type { Store } from '../store/store.ts';
import { isDamaged, recordIntact } from './damages.ts';

/**
 * Puts a staged blob on stable storage. If the blob is recorded as damaged, the damaged file is set aside first and the
 * repair is recorded. The caller adds the row that names the blob.
 */
export async function storeWithRepair(
  store: Pick<Store, 'read' | 'write' | 'instant' | 'blobs' | 'folder'>,
  staged: StagedBlob,
  by?: WriteVia,
): Promise<void> {
  const { sha256 } = staged;
  const isRepair = isDamaged(store.read, sha256);
  if (isRepair) await setAside(store.folder, sha256);
  await staged.keep(by);
  if (isRepair) await store.write((database) => recordIntact(database, sha256, store.instant()));
}
