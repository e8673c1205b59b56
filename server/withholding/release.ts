import type { NewRelease, Release, ReleasedReason, ReleasePreview } from '../../shared/node/withheld.ts';
import { Problem } from '../../shared/problems.ts';
import { appendEntry, nextSeq } from '../ledger/appendEntry.ts';
import { isJoined, partsTiedTo } from '../store/sqlite/archive/sets.ts';
import type { WriteDatabase } from '../store/sqlite/engine/open.ts';
import { onSnapshot } from '../store/sqlite/engine/queries.ts';
import { blobBytes, usesOfObject } from '../store/sqlite/node/blobs.ts';
import { finishRelease, insertRelease, isReleased, releaseOf } from '../store/sqlite/node/withheld.ts';
import type { Store } from '../store/store.ts';
import { releaseDigest } from './withholding.ts';

/**
 * Gives up the bytes of a digest: the release is recorded, then the bytes are removed. If a set has them in parts, too, these
 * are given up with them. Returns the release, and whether it is new.
 *
 * @throws Problem `unknown_target`; the errors of the file system. The release may be recorded then, and the next start
 * removes the bytes.
 */
export async function release(
  store: ReleasingStore,
  { sha256, reason, note }: NewRelease,
): Promise<{ release: Release; isNew: boolean }> {
  const { digests, ...released } = await store.write((database) => {
    const give = (each: string) =>
      releaseNow(database, { sha256: each, reason, note: note ?? null }, store.instant());
    const existing = releaseOf(database, sha256);
    const made = existing ?? give(sha256);
    const parts = partsTiedTo(database, sha256).filter((part) => !isReleased(database, part));
    for (const part of parts) give(part);
    return { release: made, isNew: existing === undefined, digests: [sha256, ...parts] };
  });
  await removeReleased(store, digests);
  return released;
}

export type ReleasingStore = Pick<Store, 'write' | 'instant' | 'blobs'>;

/** Removes the bytes of digests whose release is committed. */
export async function removeReleased(
  store: Pick<Store, 'write' | 'blobs'>,
  digests: readonly string[],
): Promise<void> {
  for (const sha256 of digests) await store.blobs.remove(sha256);
  await store.write((database) => {
    for (const sha256 of digests) finishRelease(database, sha256);
  });
}

/** Records a release in a transaction that is open. @throws Problem `unknown_target` */
export function releaseNow(
  database: WriteDatabase,
  { sha256, reason, note }: { sha256: string; reason: ReleasedReason; note: string | null },
  at: string,
): Release {
  const bytes = blobBytes(database, sha256);
  if (bytes === undefined) {
    const message = isJoined(database, sha256)
      ? 'The archive has these bytes only in the parts of a set. Withhold the digest, and release what that covers.'
      : 'The archive has no bytes with this digest.';
    throw new Problem('unknown_target', message, { errors: [{ path: '/sha256', message }] });
  }
  const release: Release = { ledger_entry: nextSeq(database), sha256, bytes, reason, note, at };
  appendEntry(database, { type: 'object.released', subject: sha256, digest: releaseDigest(release), at });
  // What was derived from the bytes is deleted with them, and overwritten in the file of the database.
  insertRelease(database, release);
  return release;
}

/** Names what a release of a digest would take away. @throws Problem `not_found` if the archive never held the bytes */
export async function previewRelease(
  { read, blobs }: Pick<Store, 'read' | 'blobs'>,
  sha256: string,
): Promise<ReleasePreview> {
  const is_here = (await blobs.bytesOf(sha256)) !== undefined;
  return onSnapshot(read, () => {
    const bytes = blobBytes(read, sha256);
    if (bytes === undefined) throw new Problem('not_found', 'The archive has no bytes with this digest.');
    const is_released = isReleased(read, sha256);
    return { sha256, bytes, is_released, is_here: is_here && !is_released, ...usesOfObject(read, sha256) };
  });
}
