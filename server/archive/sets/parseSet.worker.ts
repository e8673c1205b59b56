import { hash } from 'node:crypto';
import { workerData } from 'node:worker_threads';
import { answerParent } from '../../runtime/answerParent.ts';
import { parseSet } from './setIndex.ts';

const { bytes } = workerData as { bytes: Uint8Array };

await answerParent(() => ({ sha256: hash('sha256', bytes, 'hex'), parsed: parseSet(bytes) }));
