import type { Clock } from '../../shared/clock.ts';
import { coverRetrievals } from '../collection/record/coverRetrievals.ts';
import { Checkpoints } from '../ledger/checkpoints.ts';
import { detectRollback, readKnownState, recordedKey } from '../ledger/detectRollback.ts';
import { readNodeKey } from '../ledger/nodeKey.ts';
import { openArchive } from '../ledger/openArchive.ts';
import { FolderInUseError } from '../store/opening/folderLock.ts';
import { withReadOnlyDatabase } from '../store/opening/inspectFolder.ts';
import { requireCurrentSchema } from '../store/sqlite/engine/migrate.ts';
import type { ExportedArchive } from './exportArchive.ts';

/**
 * Opens an archive for `exportArchive`. Where no node has it open, it is taken for as long and brought up to date as at
 * a start; beside a node it is only read.
 *
 * @throws SchemaMismatchError beside a node of another version; what `openArchive` throws
 */
export async function openForExport(
  folder: string,
  clock: Clock,
): Promise<ExportedArchive & { close: () => Promise<void> }> {
  try {
    const { store, checkpoints } = await openArchive({ folder, clock });
    try {
      await coverRetrievals(store);
      return { folder, clock, checkpoints, close: () => store.close() };
    } catch (error) {
      await store.close();
      throw error;
    }
  } catch (error) {
    if (!(error instanceof FolderInUseError)) throw error;
    return openBesideNode(folder, clock, error);
  }
}

function openBesideNode(folder: string, clock: Clock, inUse: FolderInUseError) {
  return withReadOnlyDatabase(folder, async (examined) => {
    requireCurrentSchema(examined.read);
    const known = recordedKey(examined);
    // A node that is just being made has none yet, and nothing to export.
    if (known === undefined) throw inUse;
    const key = await readNodeKey(folder, known);
    const { checkpoint, doubt } = await detectRollback(examined, await readKnownState(folder));
    if (doubt) throw doubt;
    const checkpoints = new Checkpoints({
      folder,
      key,
      storedSize: checkpoint?.size ?? -1,
      isSecondary: true,
    });
    return { folder, clock, checkpoints, close: async () => {} };
  });
}
