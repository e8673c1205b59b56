import { parentPort } from 'node:worker_threads';
import { copyFileSync, type FileResult, type FileTask } from './copyFile.ts';

/** A file for the thread, with a number that its answer has too. */
export type FileRequest = FileTask & { id: number };
export type FileAnswer = { id: number; result: FileResult };

parentPort?.on('message', ({ id, ...task }: FileRequest) => {
  parentPort?.postMessage({ id, result: copyFileSync(task) } satisfies FileAnswer);
});
