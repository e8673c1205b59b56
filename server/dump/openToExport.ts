import type { Clock } from '../../shared/clock.ts';
import { coverRetrievals } from '../collection/coverRetrievals.ts';
import { findNodeKey, openNodeKey } from '../ledger/nodeKey.ts';
import { databaseFile } from '../store/blobs/paths.ts';
import { FolderInUseError } from '../store/folderLock.ts';
import { requireSchema } from '../store/sqlite/migrate.ts';
import { openForReading } from '../store/sqlite/open.ts';
import { openStore } from '../store/store.ts';
import type { ExportedArchive } from './exportArchive.ts';

/**
 * Opens an archive for `exportArchive`. Where no node has it open, it is taken for as long and brought up to date as at
 * a start; beside a node it is only read.
 *
 * @throws OtherSchemaError beside a node of another version; NodeKeyError; what `openStore` throws
 */
export async function openToExport(
  folder: string,
  clock: Clock,
): Promise<ExportedArchive & { close: () => Promise<void> }> {
  try {
    const store = await openStore({ folder, clock });
    try {
      const key = await openNodeKey(store);
      await coverRetrievals(store);
      return { folder, clock, key, close: () => store.close() };
    } catch (error) {
      await store.close();
      throw error;
    }
  } catch (error) {
    if (!(error instanceof FolderInUseError)) throw error;
    return openBesideNode(folder, clock, error);
  }
}

async function openBesideNode(folder: string, clock: Clock, inUse: FolderInUseError) {
  const read = openForReading(databaseFile(folder));
  try {
    requireSchema(read);
    const key = await findNodeKey({ folder, read });
    // A node that is just being made has none yet, and nothing to export.
    if (!key) throw inUse;
    return { folder, clock, key, close: async () => {} };
  } finally {
    read.close();
  }
}
