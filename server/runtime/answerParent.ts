import { parentPort } from 'node:worker_threads';

/** For the code of a worker thread: does its work and sends the result, or the message of the error, to `runWorker`. */
export async function answerParent(work: () => unknown): Promise<void> {
  try {
    const result = await work();
    parentPort?.postMessage({ result });
  } catch (error) {
    parentPort?.postMessage({ failure: error instanceof Error ? error.message : String(error) });
  }
}
