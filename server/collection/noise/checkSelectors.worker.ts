import { workerData } from 'node:worker_threads';
import type { Selector } from '../../../shared/collection/noise.ts';
import { answerParent } from '../../runtime/answerParent.ts';
import { findInvalid } from './selectors.ts';

await answerParent(() => findInvalid(workerData as Selector[]));
