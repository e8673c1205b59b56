import { Problem } from '../../../shared/problems.ts';
import { blobBytes } from '../../store/sqlite/node/blobs.ts';
import type { Store } from '../../store/store.ts';
import { isPermanent, NotDerivableError, type NotDerivableReason } from '../derived/notDerivable.ts';
import { noticeDamagedObjects } from '../derived/noticeDamagedObjects.ts';
import type { DeriveOptions, Deriver } from '../derived/process/deriver.ts';
import type { DiffResult, DiffTask } from '../derived/process/tasks.ts';
import { BYTES_PER_MS, DIFF_TIMEOUT_MS, MAX_DIFF_MEGABYTES } from './limits.ts';
import { REASONS } from './reasons.ts';

/** After these failures, the bytes are compared instead. */
const FALLBACKS: Partial<Record<NotDerivableReason, string>> = {
  time_out: REASONS.tooSlow,
  out_of_memory: REASONS.tooMuchMemory,
  tool_failed: REASONS.toolFailed,
};

/**
 * Compares two blobs in the derive process, within the limits of time and size. Blobs that are too large or too slow to
 * compare are compared by their bytes.
 *
 * @throws Problem `blob_damaged`, `not_derivable`, `derivation_busy`, `shutting_down`.
 */
export async function deriveComparison(
  store: Store,
  deriver: Deriver,
  { from, to, rules }: Pick<DiffTask, 'from' | 'to' | 'rules'>,
  priority: DeriveOptions['priority'] = 'normal',
): Promise<DiffResult> {
  const digests = [from.sha256, to.sha256];
  const task = { task: 'diff' as const, from, to, rules };
  const sizes = digests.map((sha256) => blobBytes(store.read, sha256) ?? 0);
  const onlyBytes =
    Math.max(...sizes) > MAX_DIFF_MEGABYTES * 1_000_000 ? REASONS.tooLarge(MAX_DIFF_MEGABYTES) : null;
  const timeoutMs = DIFF_TIMEOUT_MS + sizes.reduce((sum, size) => sum + size) / BYTES_PER_MS;
  const options = { timeoutMs, priority };
  try {
    return await deriver.derive({ ...task, onlyBytes }, options).catch((error: unknown) => {
      const reason = error instanceof NotDerivableError ? FALLBACKS[error.reason] : undefined;
      if (reason === undefined) throw error;
      return deriver.derive({ ...task, onlyBytes: reason }, options);
    });
  } catch (error) {
    if (!(error instanceof NotDerivableError)) throw error;
    await noticeDamagedObjects(store, error, digests);
    throw new Problem(
      isPermanent(error.reason) ? 'not_derivable' : 'blob_damaged',
      `The two versions cannot be compared: ${error.message}`,
      { cause: error },
    );
  }
}
