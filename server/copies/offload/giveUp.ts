import type { LostCopy } from '../../../shared/node/copy.ts';
import { Problem } from '../../../shared/problems.ts';
import { recordDamage } from '../../fixity/damages.ts';
import { restoreObject } from '../../fixity/restoreObject.ts';
import type { JobRun } from '../../runtime/jobs.ts';
import { type CopyRow, deleteCopy } from '../../store/sqlite/node/copies.ts';
import { forgetOffloaded, objectsOnlyIn, onlyInAfter } from '../../store/sqlite/node/offloadedObjects.ts';
import type { Store } from '../../store/store.ts';
import { readClaim } from '../claim.ts';
import { readCredentials, writeCredentials } from '../keys/credentials.ts';
import { openTarget } from '../targets/openTarget.ts';
import { CopyError } from '../targets/target.ts';
import { OtherCopies } from './otherCopies.ts';

/** The objects that are recorded at once, so that they share the syncs of the disk. */
const BATCH = 100;

interface GiveUp {
  store: Store;
  others: OtherCopies;
  /** Whether the place of the copy can be reached, so that objects may still be read there. */
  isReached: boolean;
  result: LostCopy;
}

/**
 * Gives up a copy that is lost for good. Objects that had left this disk and that only it held are put back if the cache
 * or its place still has them, and looked for in the other copies. The rest is recorded as damaged (`missing`), and the
 * copy is forgotten. After an interruption, what was recorded stays, and the copy is still known.
 *
 * @throws Problem `copy_readable`; the signal's reason
 */
export async function giveUpCopy(store: Store, copy: CopyRow, run: JobRun): Promise<LostCopy> {
  const isReached = await requireUnreadable(store, copy);
  const others = await OtherCopies.open(store, copy);
  const work: GiveUp = { store, others, isReached, result: { objects: 0, bytes: 0, restored: 0 } };
  try {
    for (let isForgotten = false; !isForgotten; ) {
      await giveUpObjects(work, copy, run);
      isForgotten = await store.write((database) => {
        // An object may have left meanwhile.
        if (objectsOnlyIn(database, copy.id) > 0) return false;
        deleteCopy(database, copy.id);
        return true;
      });
    }
  } finally {
    others.close();
  }
  await writeCredentials(store.folder, copy.id, undefined);
  return work.result;
}

async function giveUpObjects(work: GiveUp, copy: CopyRow, run: JobRun): Promise<void> {
  const { store, result } = work;
  const total = objectsOnlyIn(store.read, copy.id);
  for (let after = ''; ; ) {
    run.signal.throwIfAborted();
    const batch = onlyInAfter(store.read, copy.id, after, BATCH);
    const last = batch.at(-1);
    if (last === undefined) return;
    // A disk may have been connected again. A store is not tried again, because an attempt may take a minute.
    if (after !== '' && copy.target.startsWith('file:')) await requireUnreadable(store, copy);
    await Promise.all(batch.map((object) => giveUpObject(work, object)));
    run.progress(result.objects + result.restored, total);
    after = last.sha256;
  }
}

/**
 * Requires that a copy cannot be read: a mistake here would cost the only copy of its objects. Returns whether its place
 * can be reached but no longer contains the claim of a copy.
 */
async function requireUnreadable({ folder }: Store, copy: CopyRow): Promise<boolean> {
  try {
    const credentials = await readCredentials(folder);
    const target = await openTarget({ ...copy, ...credentials[copy.id] });
    try {
      if ((await readClaim(target)) === undefined) return true;
    } finally {
      target.close();
    }
  } catch (error) {
    if (error instanceof CopyError) return false;
    throw error;
  }
  throw new Problem(
    'copy_readable',
    'This copy can be read. Bring the objects back from it; if some are damaged there, a check of the copy records which.',
  );
}

async function giveUpObject(
  { store, others, isReached, result }: GiveUp,
  { sha256, bytes }: { sha256: string; bytes: number },
): Promise<void> {
  const { away } = store.blobs;
  if ((isReached || away.isCached(sha256)) && (await tryRestore(store, sha256))) {
    result.restored += 1;
    return;
  }
  if (await others.find(sha256)) return;
  await away.exclusively(sha256, async () => {
    const isAway = await away.isAway(sha256);
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

/** Puts an object back from the cache or the copy. Returns false if neither gives its bytes. */
async function tryRestore(store: Store, sha256: string): Promise<boolean> {
  try {
    return await restoreObject(store, sha256, store.blobs.away.read(sha256));
  } catch (error) {
    // It left the cache meanwhile, or the place no longer holds it.
    if (error instanceof Problem && UNREAD.has(error.code)) return false;
    throw error;
  }
}

const UNREAD: ReadonlySet<string> = new Set(['copy_unreachable', 'blob_damaged']);
