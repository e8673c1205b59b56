import type { Checkpoints } from '../ledger/checkpoints.ts';
import { keysOf } from '../ledger/detectRollback.ts';
import { readKeyChanges } from '../ledger/keyChanges.ts';
import { rootAt } from '../ledger/tree.ts';
import type { CopyRow } from '../store/sqlite/node/copies.ts';
import { lastEntry } from '../store/sqlite/node/ledger.ts';
import type { Store } from '../store/store.ts';
import { type CopiedCheckpoint, readClaim, readCopiedCheckpoint } from './claim.ts';
import type { CompareVersions } from './pages/diff/compareVersions.ts';
import { CopyError, type CopyTarget } from './targets/target.ts';

/** The open archive that is copied. */
export interface CopyServices {
  store: Store;
  checkpoints: Checkpoints;
  /** Compares the two versions of a change for its page. */
  compare: CompareVersions;
}

/**
 * Requires that this data folder writes to a copy and that the copy's history is that of this archive. Returns the
 * copy's checkpoint, undefined if it has none yet.
 *
 * @throws CopyError
 */
export async function requireOwn(
  services: CopyServices,
  { writer }: Pick<CopyRow, 'writer'>,
  target: CopyTarget,
): Promise<CopiedCheckpoint | undefined> {
  const claim = await readClaim(target);
  if (!claim)
    throw new CopyError(
      `${target.name} holds no copy. Connect its disk; if the copy is gone, remove it here and add it again.`,
    );
  if (claim.writer !== writer)
    throw new CopyError(
      `Another machine writes to the copy in ${target.name}. Remove the copy here, or add it again to take it over.`,
    );
  return requireSameHistory(services, target);
}

/** @throws CopyError if the copy is ahead of this archive, or holds another history */
export async function requireSameHistory(
  { store, checkpoints }: CopyServices,
  target: CopyTarget,
): Promise<CopiedCheckpoint | undefined> {
  const copied = await readCopiedCheckpoint(
    target,
    keysOf(checkpoints.key.verifierKey, readKeyChanges(store.read)),
  );
  if (!copied) return undefined;
  const size = lastEntry(store.read)?.seq ?? 0;
  if (copied.size > size)
    throw new CopyError(
      `The copy in ${target.name} has ${copied.size} entries, and this archive has ${size}. Restore from the copy, or choose another place.`,
    );
  if (!rootAt(store.read, copied.size).equals(copied.root))
    throw new CopyError(
      `The copy in ${target.name} holds another history than this archive. Choose another place.`,
    );
  return copied;
}
