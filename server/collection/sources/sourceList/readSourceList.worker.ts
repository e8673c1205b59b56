import { parentPort, workerData } from 'node:worker_threads';
import type { ListFormat } from '../../../../shared/collection/sourceList.ts';
import { SourceListError } from './listedEntry.ts';
import { readSourceList } from './readSourceList.ts';

const { form, bytes } = workerData as { form: ListFormat; bytes: Uint8Array };
try {
  parentPort?.postMessage({ result: { list: readSourceList(form, bytes) } });
} catch (error) {
  if (error instanceof SourceListError) parentPort?.postMessage({ result: { refused: error.message } });
  else parentPort?.postMessage({ failure: error instanceof Error ? error.message : String(error) });
}
