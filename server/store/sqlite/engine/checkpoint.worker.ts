import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import type { CheckpointAnswer, CheckpointTask } from './checkpointer.ts';

const database = new Database(workerData as string, { fileMustExist: true });
database.pragma('synchronous = FULL');

parentPort?.on('message', (task: CheckpointTask) => {
  if (task === 'end') {
    database.close();
    parentPort?.close();
    return;
  }
  // Waits for nobody: what a reader or the writer still needs is left for the next time.
  const [told] = database.pragma('wal_checkpoint(PASSIVE)') as { log: number; checkpointed: number }[];
  parentPort?.postMessage({ isWhole: told?.log === told?.checkpointed } satisfies CheckpointAnswer);
});
