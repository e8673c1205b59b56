import type { LostCopy } from '../../../shared/node/copy.ts';
import { Problem } from '../../../shared/problems.ts';
import { recordDamage, restoreObject } from '../../fixity/damages.ts';
import type { JobRun } from '../../runtime/jobs.ts';
import {
  allCopies,
  type CopyRow,
  deleteCopy,
  insertCopiedObjects,
  setCopyError,
} from '../../store/sqlite/node/copies.ts';
import { forgetOffloaded, objectsOnlyIn, onlyInAfter } from '../../store/sqlite/node/offloadedObjects.ts';
import type { Store } from '../../store/store.ts';
import { readClaim } from '../claim.ts';
import { objectPath } from '../copyPaths.ts';
import { type CopyOpener, openCopy } from '../targets/openTarget.ts';
import { CopyError, type CopyTarget, InvalidCopyError } from '../targets/target.ts';

/** The objects that are recorded at once, so that they share the syncs of the disk. */
const BATCH = 100;

interface LostCopyWork {
  store: Store;
  opener: CopyOpener;
  others: OtherCopies;
  /** Whether the place of the copy can be reached, so that objects may still be read there. */
  isReached: boolean;
  result: LostCopy;
}

/**
 * Marks a copy as lost and forgets it. Offloaded objects that only it held are put back if the cache
 * or its place still has them, and looked for in the other copies. The rest is recorded as damaged (`missing`), and the copy
 * is forgotten. After an interruption, what was recorded stays, and the copy is still known.
 *
 * @throws Problem `copy_readable`; the signal's reason
 */
export async function markCopyLost(
  store: Store,
  opener: CopyOpener,
  copy: CopyRow,
  run: JobRun,
): Promise<LostCopy> {
  const isReached = await requireUnreadable(opener, copy);
  const others = await OtherCopies.open(store, opener, copy);
  const work: LostCopyWork = {
    store,
    opener,
    others,
    isReached,
    result: { objects: 0, bytes: 0, restored: 0 },
  };
  try {
    for (let isForgotten = false; !isForgotten; ) {
      await recordLostObjects(work, copy, run);
      isForgotten = await store.write((database) => {
        // An object may have left meanwhile.
        if (objectsOnlyIn(database, copy.id) > 0) return false;
        deleteCopy(database, copy.id);
        return true;
      });
    }
  } finally {
    await others.close();
  }
  return work.result;
}

async function recordLostObjects(work: LostCopyWork, copy: CopyRow, run: JobRun): Promise<void> {
  const { store, opener, result } = work;
  const total = objectsOnlyIn(store.read, copy.id);
  for (let after = ''; ; ) {
    run.signal.throwIfAborted();
    const batch = onlyInAfter(store.read, copy.id, after, BATCH);
    const last = batch.at(-1);
    if (last === undefined) return;
    // A disk may have been connected again. A store is not tried again, because an attempt may take a minute.
    if (after !== '' && copy.target.startsWith('file:')) await requireUnreadable(opener, copy);
    await Promise.all(batch.map((object) => recordLostObject(work, object)));
    run.progress(result.objects + result.restored, total);
    after = last.sha256;
  }
}

/**
 * Requires that a copy cannot be read: a mistake here would cost the only copy of its objects. Returns whether its place
 * can be reached, but is no longer the copy that this data folder writes to: the claim is gone, damaged, or that of another
 * archive or data folder.
 */
async function requireUnreadable(opener: CopyOpener, copy: CopyRow): Promise<boolean> {
  try {
    const target = await openCopy(opener, copy);
    try {
      // One failure of a network is not the loss of a copy.
      const claim = await readClaim(target).catch(() => readClaim(target));
      if (claim?.writer !== copy.owner_token) return true;
    } finally {
      await target.close();
    }
  } catch (error) {
    if (error instanceof CopyError) return error instanceof InvalidCopyError;
    throw error;
  }
  throw new Problem(
    'copy_readable',
    'This copy can be read. Restore the objects from it. If some are damaged there, check the copy: the check records which.',
  );
}

async function recordLostObject(
  { store, others, isReached, result }: LostCopyWork,
  { sha256, bytes }: { sha256: string; bytes: number },
): Promise<void> {
  const { offloaded } = store.blobs;
  if ((isReached || offloaded.isCached(sha256)) && (await bringBackIfRead(store, sha256))) {
    result.restored += 1;
    return;
  }
  if (await others.find(sha256)) return;
  await offloaded.exclusively(sha256, async () => {
    const isOffloaded = await offloaded.isOffloaded(sha256);
    await store.write((database) => {
      forgetOffloaded(database, sha256);
      if (!isOffloaded) return;
      const found = { sha256, bytes, problem: 'missing', found: null } as const;
      recordDamage(database, found, 'missing', store.instant());
    });
    if (!isOffloaded) return;
    result.objects += 1;
    result.bytes += bytes;
  });
}

/** Puts an offloaded object back from the cache or a copy. Returns false if neither gives its bytes. */
export async function bringBackIfRead(store: Store, sha256: string): Promise<boolean> {
  try {
    return await restoreObject(store, sha256, store.blobs.offloaded.read(sha256));
  } catch (error) {
    // It left the cache meanwhile, or the place no longer holds it.
    if (error instanceof Problem && UNREAD.has(error.code)) return false;
    throw error;
  }
}

const UNREAD: ReadonlySet<string> = new Set(['copy_unreachable', 'blob_damaged']);

/** The other copies of an archive that can be read. */
class OtherCopies {
  readonly #store: Store;
  readonly #targets: Map<string, CopyTarget>;

  private constructor(store: Store, targets: Map<string, CopyTarget>) {
    this.#store = store;
    this.#targets = targets;
  }

  static async open(store: Store, opener: CopyOpener, besides: CopyRow): Promise<OtherCopies> {
    const targets = new Map<string, CopyTarget>();
    for (const row of allCopies(store.read))
      if (row.id !== besides.id) {
        const target = await openIfReached(opener, row);
        if (target) targets.set(row.id, target);
      }
    return new OtherCopies(store, targets);
  }

  /**
   * Reads an object back from the copies in turn until one holds it intact, and records that this one does. A copy may
   * hold more than is recorded: its last sync may have been interrupted.
   */
  async find(sha256: string): Promise<boolean> {
    for (const [id, target] of this.#targets)
      if (await this.#ask(id, async () => (await target.digestOf(objectPath(sha256)))?.sha256 === sha256)) {
        await this.#store.write((database) => insertCopiedObjects(database, id, [sha256]));
        return true;
      }
    return false;
  }

  /** Asks a copy for something. One that fails is not asked again, because an attempt may take a minute. */
  async #ask(id: string, work: () => Promise<boolean>): Promise<boolean> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof CopyError)) throw error;
      await this.#store.write((database) => setCopyError(database, { id, last_error: error.message }));
      await this.#targets.get(id)?.close();
      this.#targets.delete(id);
      return false;
    }
  }

  async close(): Promise<void> {
    for (const target of this.#targets.values()) await target.close();
  }
}

async function openIfReached(opener: CopyOpener, copy: CopyRow): Promise<CopyTarget | undefined> {
  try {
    return await openCopy(opener, copy);
  } catch (error) {
    if (error instanceof CopyError) return undefined;
    throw error;
  }
}
