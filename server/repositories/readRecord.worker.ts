import { workerData } from 'node:worker_threads';
import { answerParent } from '../runtime/answerParent.ts';
import { type ReadingInput, readRecord } from './readRecord.ts';

await answerParent(() => readRecord(workerData as ReadingInput));
