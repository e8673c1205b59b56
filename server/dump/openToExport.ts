import type { Clock } from '../../shared/clock.ts';
import { coverRetrievals } from '../collection/record/coverRetrievals.ts';
import { Checkpoints } from '../ledger/checkpoints.ts';
import { compareWithKept, knownKey, readBeside } from '../ledger/judgeArchive.ts';
import { readNodeKey } from '../ledger/nodeKey.ts';
import { openArchive } from '../ledger/openArchive.ts';
import { lookInto } from '../store/opening/examine.ts';
import { FolderInUseError } from '../store/opening/folderLock.ts';
import { requireSchema } from '../store/sqlite/engine/migrate.ts';
import type { ExportedArchive } from './exportArchive.ts';

/**
 * Opens an archive for `exportArchive`. Where no node has it open, it is taken for as long and brought up to date as at
 * a start; beside a node it is only read.
 *
 * @throws OtherSchemaError beside a node of another version; what `openArchive` throws
 */
export async function openToExport(
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
  return lookInto(folder, async (examined) => {
    requireSchema(examined.read);
    const known = knownKey(examined);
    // A node that is just being made has none yet, and nothing to export.
    if (known === undefined) throw inUse;
    const key = await readNodeKey(folder, known);
    const { checkpoint, doubt } = await compareWithKept(examined, await readBeside(folder));
    if (doubt) throw doubt;
    const checkpoints = new Checkpoints({ folder, key, keptSize: checkpoint?.size ?? -1, isBeside: true });
    return { folder, clock, checkpoints, close: async () => {} };
  });
}
