import { instantOf } from '../../../shared/clock.ts';
import type { LedgerVerification } from '../../../shared/ledger.ts';
import type { LedgerFindings } from '../../ledger/verifyLedger.ts';
import { runWorker, workerUrl } from '../../runtime/runWorker.ts';
import { WorkCoalescer } from '../../runtime/workCoalescer.ts';
import { databaseFile } from '../../store/blobs/paths.ts';
import { requireSynced } from '../../store/sqlite/engine/writeAheadLog.ts';
import type { Store } from '../../store/store.ts';

/**
 * Verifies the whole ledger in a worker thread while requests go on. `tell` hears how many entries were checked.
 *
 * @throws Problem as `requireSynced`
 */
export async function runLedgerVerification(
  { folder, clock }: Pick<Store, 'folder' | 'clock'>,
  { signal, tell }: { signal?: AbortSignal; tell?: (checked: number) => void } = {},
): Promise<LedgerVerification> {
  requireSynced(databaseFile(folder));
  const started = clock.now();
  const { size, head, root, problems } = await runWorker<LedgerFindings, number>(
    workerUrl('verifyLedger', import.meta.url),
    { file: databaseFile(folder) },
    { signal, onProgress: tell },
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
  };
}

const forReaders = new WeakMap<object, WorkCoalescer<LedgerVerification>>();

/** The same for whoever may read: one at a time, and who asks while it waits to begin shares it. */
export function verifyLedgerForReader(store: Pick<Store, 'folder' | 'clock'>): Promise<LedgerVerification> {
  let shared = forReaders.get(store);
  if (!shared) forReaders.set(store, (shared = new WorkCoalescer(1)));
  return shared.run('ledger', () => runLedgerVerification(store));
}
