import type { LedgerVerification } from '../../../shared/ledger/ledger.ts';
import { instantOf } from '../../../shared/values/clock.ts';
import { WorkCoalescer } from '../../runtime/concurrency.ts';
import { runInThread } from '../../runtime/threads.ts';
import { databaseFile } from '../../store/files.ts';
import { requireSynced } from '../../store/sqlite/engine/writeAheadLog.ts';
import type { Store } from '../../store/store.ts';
import type { VerifiedLedger } from './verifyDatabase.ts';

/**
 * Verifies the whole ledger in a worker thread. `onProgress` is called with the number of entries checked so far.
 *
 * @throws what `requireSynced` throws
 */
export async function runLedgerVerification(
  { folder, clock }: Pick<Store, 'folder' | 'clock'>,
  { signal, onProgress }: { signal?: AbortSignal; onProgress?: (checked: number) => void } = {},
): Promise<LedgerVerification> {
  requireSynced(databaseFile(folder));
  const started = clock.now();
  const { size, head, root, problems, sealed } = await runInThread<VerifiedLedger>(
    'verifyLedger',
    databaseFile(folder),
    { signal, onProgress },
  );
  const ended = clock.now();
  return {
    ok: problems.length === 0,
    size,
    head,
    root,
    checked_at: instantOf(ended),
    duration_ms: ended - started,
    problems,
    sealed,
  };
}

const forReaders = new WeakMap<object, WorkCoalescer<LedgerVerification>>();

/** Like `runLedgerVerification`, but runs one at a time; callers that wait for the same run share its result. */
export function verifyLedgerForReader(store: Pick<Store, 'folder' | 'clock'>): Promise<LedgerVerification> {
  let shared = forReaders.get(store);
  if (!shared) forReaders.set(store, (shared = new WorkCoalescer(1)));
  return shared.run('ledger', () => runLedgerVerification(store));
}
