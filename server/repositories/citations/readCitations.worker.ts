import { workerData } from 'node:worker_threads';
import { answerParent } from '../../runtime/answerParent.ts';
import { readCitations } from './citations.ts';

await answerParent(() => readCitations(workerData as Parameters<typeof readCitations>[0]));
