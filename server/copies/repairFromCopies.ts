import { Problem } from '../../shared/problems.ts';
import { restoreObject } from '../fixity/restoreObject.ts';
import type { Log } from '../runtime/log.ts';
import { type CopyRow, isCopied } from '../store/sqlite/node/copies.ts';
import { currentDamages } from '../store/sqlite/node/damages.ts';
import type { Store } from '../store/store.ts';
import { objectPath } from './copyPaths.ts';
import type { CopyTarget } from './targets/target.ts';

/** The number of objects that one run repairs. */
const MAX_REPAIRED = 1_000;

export interface CopyRepair {
  store: Store;
  log: Log;
  copies: readonly CopyRow[];
  /** Opens a copy for some work. @throws Problem `copy_failed` */
  withTarget: <Result>(id: string, work: (target: CopyTarget) => Promise<Result>) => Promise<Result>;
  signal: AbortSignal;
}

/**
 * Fetches damaged and missing objects of this archive from its copies, verifies each by its digest and puts it in place.
 * Returns the digests of those that are intact now.
 *
 * @throws the signal's reason; errors of this archive's storage
 */
export async function repairFromCopies({
  store,
  log,
  copies,
  withTarget,
  signal,
}: CopyRepair): Promise<string[]> {
  const restored: string[] = [];
  for (const { id, target: name } of copies) {
    const damaged = currentDamages(store.read, MAX_REPAIRED).filter(({ sha256 }) =>
      isCopied(store.read, id, sha256),
    );
    if (damaged.length === 0) continue;
    try {
      await withTarget(id, async (target) => {
        for (const { sha256 } of damaged) {
          signal.throwIfAborted();
          const stream = await target.read(objectPath(sha256), signal);
          if (stream && (await restoreObject(store, sha256, stream as AsyncIterable<Buffer>)))
            restored.push(sha256);
        }
      });
    } catch (error) {
      if (signal.aborted || !(error instanceof Problem)) throw error;
      log.warn({ copy: name, error }, 'A copy could not be read to repair damaged objects');
    }
  }
  return restored;
}
