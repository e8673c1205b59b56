import type { BringBackResult } from '../../../shared/node/offload.ts';
import { Problem } from '../../../shared/problems.ts';
import { storeWithRepair } from '../../fixity/storeWithRepair.ts';
import type { JobRun } from '../../runtime/jobs.ts';
import { counter } from '../../store/sqlite/node/blobs.ts';
import { offloadedAfter } from '../../store/sqlite/node/offloadedObjects.ts';
import type { Store } from '../../store/store.ts';

const PAGE = 100;

/**
 * Brings all objects back that have left this disk. Each is on stable storage before it is recorded as being here.
 *
 * @throws Problem `copy_unreachable`, `disk_nearly_full`; the signal's reason. What came back until then stays.
 */
export async function bringBack(
  store: Store,
  { signal, progress }: JobRun,
  requireRoom: (bytes: number) => Promise<void>,
): Promise<BringBackResult> {
  const result: BringBackResult = { objects: 0, bytes: 0, missing: 0 };
  const total = counter(store.read, 'offloaded_objects');
  for (let after = ''; ; ) {
    const page = offloadedAfter(store.read, after, PAGE);
    const last = page.at(-1);
    if (last === undefined) return result;
    for (const sha256 of page) {
      signal.throwIfAborted();
      const bytes = store.blobs.away.bytesOf(sha256);
      if (bytes === undefined) continue;
      await requireRoom(bytes);
      if (await bringOne(store, sha256, bytes)) {
        result.objects += 1;
        result.bytes += bytes;
      } else result.missing += 1;
      progress(result.objects + result.missing, total);
    }
    after = last;
  }
}

/** Returns false if every copy of the object is damaged. */
async function bringOne(store: Store, sha256: string, bytes: number): Promise<boolean> {
  try {
    const staged = await store.blobs.staging.stage(store.blobs.away.stream(sha256), bytes);
    try {
      if (staged.sha256 !== sha256) return false;
      await storeWithRepair(store, staged);
      return true;
    } finally {
      await staged.discard();
    }
  } catch (error) {
    if (error instanceof Problem && error.code === 'blob_damaged') return false;
    throw error;
  }
}
