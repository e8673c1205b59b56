import type { Clock } from '../../shared/values/clock.ts';
import { openArchiveForWriting } from '../collection/record/openArchiveForWriting.ts';
import { Checkpoints } from '../ledger/checkpoints.ts';
import { detectRollback, readKnownState, recordedKey } from '../ledger/detectRollback.ts';
import { readNodeKey } from '../ledger/nodeKey.ts';
import { FolderInUseError } from '../store/opening/folderLock.ts';
import { withReadOnlyDatabase } from '../store/opening/inspectFolder.ts';
import { requireCurrentSchema } from '../store/sqlite/engine/migrate.ts';
import type { ExportedArchive } from './exportArchive.ts';

/**
 * Opens an archive for `exportArchive`. If no node has the archive open, it is locked and migrated as at a start. If a
 * node has it open, it is only read.
 *
 * @throws SchemaMismatchError if a node of another version has it open; what `openArchive` throws
 */
export async function openForExport(
  folder: string,
  clock: Clock,
): Promise<ExportedArchive & { close: () => Promise<void> }> {
  try {
    const { store, checkpoints } = await openArchiveForWriting({ folder, clock });
    return { folder, clock, checkpoints, close: () => store.close() };
  } catch (error) {
    if (!(error instanceof FolderInUseError)) throw error;
    return openBesideNode(folder, clock, error);
  }
}

function openBesideNode(folder: string, clock: Clock, inUse: FolderInUseError) {
  return withReadOnlyDatabase(folder, async (examined) => {
    requireCurrentSchema(examined.read);
    const known = recordedKey(examined);
    // The node is still creating the archive: it has no key yet, and nothing to export.
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
