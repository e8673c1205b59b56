import type { StagedBlob, WriteVia } from '../store/blobs/blobStore.ts';
import { setAside } from '../store/blobs/setAside.ts';
import { forgetOffloaded } from '../store/sqlite/node/offloadedObjects.ts';
import type { Store } from '../store/store.ts';
import { isDamaged, recordIntact } from './damages.ts';

/**
 * Puts a staged blob on stable storage. If the blob is recorded as damaged, the damaged file is set aside first and the
 * repair is recorded. If it had left this disk, it is here again. The caller adds the row that names the blob.
 */
export async function storeWithRepair(
  store: Pick<Store, 'read' | 'write' | 'instant' | 'blobs' | 'folder'>,
  staged: StagedBlob,
  by?: WriteVia,
): Promise<void> {
  const { sha256 } = staged;
  const { away } = store.blobs;
  if (away.bytesOf(sha256) === undefined) return keep(store, staged, by);
  await away.exclusively(sha256, async () => {
    await keep(store, staged, by);
    await store.write((database) => forgetOffloaded(database, sha256));
  });
}

async function keep(
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
