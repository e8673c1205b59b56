import { parentPort, workerData } from 'node:worker_threads';
import { lowerPriority } from '../../runtime/child.ts';
import { answerParent } from '../../runtime/threads.ts';
import type { DrillInput, DrillProgress } from './restoreDrill.ts';
import { runDrill } from './runDrill.ts';

const report = (progress: DrillProgress) => parentPort?.postMessage({ progress });

// Only Linux has priorities of threads. Elsewhere this would lower that of the whole node.
if (process.platform === 'linux') lowerPriority(0);
await answerParent(() => runDrill(workerData as DrillInput, { report }));
