import { parentPort, workerData } from 'node:worker_threads';
import { integrityFindings } from '../store/sqlite/engine/integrity.ts';
import { openForReading } from '../store/sqlite/engine/open.ts';

const MAX_FINDINGS = 100;

const { file } = workerData as { file: string };
const database = openForReading(file, { isMapped: false });
try {
  parentPort?.postMessage({ result: integrityFindings(database, MAX_FINDINGS) });
} catch (error) {
  parentPort?.postMessage({ failure: error instanceof Error ? error.message : String(error) });
} finally {
  database.close();
}
