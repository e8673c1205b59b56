import { basename } from 'node:path';
import { Worker } from 'node:worker_threads';

/** A message from a worker thread: any number of progress messages, then one result or one failure. */
export type WorkerMessage<Result, Progress> =
  | { progress: Progress }
  | { result: Result }
  | { failure: string };

/**
 * Runs a worker thread and resolves with its result.
 *
 * @param url from `workerUrl`
 * @throws an Error with the worker's message; an AbortError if the signal is aborted, which ends the thread.
 */
export async function runWorker<Result, Progress = never>(
  url: URL,
  input: unknown,
  { signal, onProgress }: { signal?: AbortSignal; onProgress?: (progress: Progress) => void } = {},
): Promise<Result> {
  signal?.throwIfAborted();
  const worker = new Worker(url, { workerData: input });
  let abort = () => {};
  try {
    return await new Promise<Result>((resolve, reject) => {
      abort = () => reject(signal?.reason as Error);
      signal?.addEventListener('abort', abort);
      worker.on('message', (message: WorkerMessage<Result, Progress>) => {
        if ('progress' in message) onProgress?.(message.progress);
        else if ('result' in message) resolve(message.result);
        else reject(new Error(message.failure));
      });
      worker.on('error', reject);
      worker.on('exit', (code) =>
        reject(new Error(`The worker ${basename(url.pathname)} ended early with code ${code}.`)),
      );
    });
  } finally {
    // One signal may outlive thousands of threads, as that of an audit does.
    signal?.removeEventListener('abort', abort);
    await worker.terminate();
  }
}
