import { workerData } from 'node:worker_threads';
import { answerParent } from '../../runtime/answerParent.ts';
import { checkRecordBytes, type RecordInput } from './packRows.ts';

await answerParent(() => checkRecordBytes(workerData as RecordInput));
