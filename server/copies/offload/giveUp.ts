import type { LostCopy } from '../../../shared/node/copy.ts';
import { Problem } from '../../../shared/problems.ts';
import { recordDamage } from '../../fixity/damages.ts';
import { putBack } from '../../fixity/putBack.ts';
import type { JobRun } from '../../runtime/jobs.ts';
import { type CopyRow, deleteCopy } from '../../store/sqlite/node/copies.ts';
import { forgetOffloaded, objectsOnlyIn, onlyInAfter } from '../../store/sqlite/node/offloadedObjects.ts';
import type { Store } from '../../store/store.ts';
import { readClaim } from '../claim.ts';
import { readCredentials, writeCredentials } from '../credentials.ts';
import { openTarget } from '../targets/openTarget.ts';
import { CopyError } from '../targets/target.ts';

/** The objects that are recorded at once, so that they share the syncs of the disk. */
const BATCH = 100;

/**
 * Gives up a copy that is lost for good: the objects that had left this disk and that only it held are recorded as
 * damaged (`missing`), those that are still in the cache are put back, and the copy is forgotten. After an interruption, what
 * was recorded stays, and the copy is still known.
 *
 * @throws Problem `copy_readable`; the signal's reason
 */
export async function giveUpCopy(store: Store, copy: CopyRow, run: JobRun): Promise<LostCopy> {
  await requireUnreadable(store, copy);
  const result: LostCopy = { objects: 0, bytes: 0, restored: 0 };
  const total = objectsOnlyIn(store.read, copy.id);
  for (let isForgotten = false; !isForgotten; ) {
    for (let after = '', isEnd = false; !isEnd; ) {
      run.signal.throwIfAborted();
      const batch = onlyInAfter(store.read, copy.id, after, BATCH);
      await Promise.all(batch.map((object) => giveUpObject(store, object, result)));
      run.progress(result.objects + result.restored, total);
      after = batch.at(-1)?.sha256 ?? after;
      isEnd = batch.length === 0;
    }
    isForgotten = await store.write((database) => {
      // An object may have left meanwhile.
      if (objectsOnlyIn(database, copy.id) > 0) return false;
      deleteCopy(database, copy.id);
      return true;
    });
  }
  await writeCredentials(store.folder, copy.id, undefined);
  return result;
}

/** A copy that can be read is not lost: a mistake here would cost the only copy of its objects. */
async function requireUnreadable({ folder }: Store, copy: CopyRow): Promise<void> {
  try {
    const credentials = await readCredentials(folder);
    const target = await openTarget({ ...copy, ...credentials[copy.id] });
    try {
      if ((await readClaim(target)) === undefined) return;
    } finally {
      target.close();
    }
  } catch (error) {
    if (error instanceof CopyError) return;
    throw error;
  }
  throw new Problem(
    'copy_readable',
    'This copy can be read. Bring the objects back from it; if some are damaged there, a check of the copy records which.',
  );
}

async function giveUpObject(
  store: Store,
  { sha256, bytes }: { sha256: string; bytes: number },
  result: LostCopy,
): Promise<void> {
  if (await putBackFromCache(store, sha256)) {
    result.restored += 1;
    return;
  }
  await store.blobs.away.exclusively(sha256, async () => {
    const isAway = await store.blobs.away.isAway(sha256);
    await store.write((database) => {
      forgetOffloaded(database, sha256);
      if (!isAway) return;
      const found = { sha256, bytes, problem: 'missing', found: null } as const;
      recordDamage(database, found, 'missing', store.instant());
    });
    if (!isAway) return;
    result.objects += 1;
    result.bytes += bytes;
  });
}

async function putBackFromCache(store: Store, sha256: string): Promise<boolean> {
  const { away } = store.blobs;
  if (!away.isCached(sha256)) return false;
  try {
    return await putBack(store, sha256, away.read(sha256));
  } catch (error) {
    // It left the cache meanwhile.
    if (error instanceof Problem && error.code === 'copy_unreachable') return false;
    throw error;
  }
}
