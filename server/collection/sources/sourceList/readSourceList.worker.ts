import { parentPort, workerData } from 'node:worker_threads';
import { readSourceList, type SourceList, SourceListError } from './readSourceList.ts';

try {
  parentPort?.postMessage({ result: { list: readSourceList(workerData as SourceList) } });
} catch (error) {
  if (error instanceof SourceListError) parentPort?.postMessage({ result: { refused: error.message } });
  else parentPort?.postMessage({ failure: error instanceof Error ? error.message : String(error) });
}
