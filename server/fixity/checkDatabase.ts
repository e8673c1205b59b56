import type { DatabaseCheck } from '../../shared/ledger/fixity.ts';
import { runWorker } from '../runtime/runWorker.ts';
import { workerUrl } from '../runtime/workerUrl.ts';
import { databaseFile } from '../store/blobs/paths.ts';
import type { Store } from '../store/store.ts';

/** Runs SQLite's integrity check over the whole database, in a worker thread. Only reads. */
export async function checkDatabase(
  { folder }: Pick<Store, 'folder'>,
  signal?: AbortSignal,
): Promise<DatabaseCheck> {
  const findings = await runWorker<string[]>(
    workerUrl('checkDatabase', import.meta.url),
    { file: databaseFile(folder) },
    { signal },
  );
  return { ok: findings.length === 0, findings };
}
