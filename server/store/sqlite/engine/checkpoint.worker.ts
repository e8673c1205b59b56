import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { BUSY_TIMEOUT_MS } from './open.ts';
import type { CheckpointAnswer, CheckpointTask } from './writeAheadLog.ts';

const database = new Database(workerData as string, { fileMustExist: true });
database.pragma('synchronous = FULL');

parentPort?.on('message', (task: CheckpointTask) => {
  if (task === 'end') {
    database.close();
    parentPort?.close();
    return;
  }
  if (task === 'empty') {
    const isEmpty = emptyLog();
    parentPort?.postMessage({ isComplete: isEmpty, isEmpty } satisfies CheckpointAnswer);
    return;
  }
  // PASSIVE waits for nobody: pages that a reader still needs are left for the next checkpoint.
  const [result] = database.pragma('wal_checkpoint(PASSIVE)') as { log: number; checkpointed: number }[];
  parentPort?.postMessage({
    isComplete: result?.log === result?.checkpointed,
  } satisfies CheckpointAnswer);
});

/** Truncates the log to nothing unless somebody uses it. Most of it is copied first, while others may still write. */
function emptyLog(): boolean {
  database.pragma('wal_checkpoint(PASSIVE)');
  // It waits for no reader: the thread that commits would wait meanwhile, too.
  database.pragma('busy_timeout = 0');
  const [result] = database.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
  database.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`);
  return result?.busy === 0;
}
