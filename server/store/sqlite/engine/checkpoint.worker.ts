import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import type { CheckpointAnswer, CheckpointTask } from './writeAheadLog.ts';

const database = new Database(workerData as string, { fileMustExist: true });
database.pragma('synchronous = FULL');

parentPort?.on('message', (task: CheckpointTask) => {
  if (task === 'end') {
    database.close();
    parentPort?.close();
    return;
  }
  // PASSIVE waits for nobody: pages that a reader still needs are left for the next checkpoint.
  const [result] = database.pragma('wal_checkpoint(PASSIVE)') as { log: number; checkpointed: number }[];
  parentPort?.postMessage({
    isComplete: result?.log === result?.checkpointed,
  } satisfies CheckpointAnswer);
});
