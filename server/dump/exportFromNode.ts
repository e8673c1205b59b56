import { join } from 'node:path';
import type { Checkpoints } from '../ledger/checkpoints.ts';
import { temporaryFolder } from '../store/blobs/paths.ts';
import type { Store } from '../store/store.ts';
import { type PreparedExport, prepareExport } from './exportArchive.ts';

/** Prepares an export of the archive that a node has open. The working file is in `tmp/`, which each start empties. */
export function exportFromNode(
  store: Store,
  checkpoints: Checkpoints,
  signal: AbortSignal,
): Promise<PreparedExport> {
  return prepareExport(
    { folder: store.folder, clock: store.clock, checkpoints },
    {
      dump: join(temporaryFolder(store.folder), `export-${store.randomHex(20)}`),
      openElsewhere: () => ({ read: (sha256, bounds) => store.blobs.read(sha256, bounds) }),
      signal,
    },
  );
}
