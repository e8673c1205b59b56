import { workerData } from 'node:worker_threads';
import { answerParent } from '../../runtime/answerParent.ts';
import { readCitations } from './readCitations.ts';

await answerParent(() => readCitations(workerData as Parameters<typeof readCitations>[0]));
