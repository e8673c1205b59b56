import { parentPort, workerData } from 'node:worker_threads';
import { verifyLedger } from '../ledger/verifyLedger.ts';
import { requireSchema } from '../store/sqlite/migrate.ts';
import { openSnapshot } from '../store/sqlite/writeAheadLog.ts';
import { stepBack } from '../store/stepBack.ts';
import { RECORDED_SUBJECTS } from './recordedSubjects.ts';

stepBack();
const { file } = workerData as { file: string };
const database = await openSnapshot(file);
try {
  requireSchema(database);
  const result = verifyLedger(database, RECORDED_SUBJECTS, (progress) =>
    parentPort?.postMessage({ progress }),
  );
  parentPort?.postMessage({ result });
} catch (error) {
  parentPort?.postMessage({ failure: error instanceof Error ? error.message : String(error) });
} finally {
  database.close();
}
