import { workerData } from 'node:worker_threads';
import { answerParent } from '../runtime/answerParent.ts';
import { integrityFindings, openForReading } from '../store/sqlite/engine/open.ts';

const MAX_FINDINGS = 100;

const { file } = workerData as { file: string };
const database = openForReading(file);
await answerParent(() => integrityFindings(database, MAX_FINDINGS));
database.close();
