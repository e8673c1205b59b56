import { basename } from 'node:path';
import { Worker } from 'node:worker_threads';

/** What a worker thread says: progress as often as it likes, then one result or one failure. */
export type WorkerMessage<Result, Progress> =
  | { progress: Progress }
  | { result: Result }
  | { failure: string };

/**
 * Where the code of a worker is.
 *
 * @param path of `<path>.worker.ts`, relative to the module that asks, without `./`. Once built, all code is in one folder.
 * @param from `import.meta.url` of that module
 */
export function workerUrl(path: string, from: string): URL {
  const isBuilt = !from.endsWith('.ts');
  return new URL(isBuilt ? `./${basename(path)}.worker.js` : `./${path}.worker.ts`, from);
}

/**
 * Runs a worker in a thread of its own and resolves with its result.
 *
 * @param url from `workerUrl`
 * @throws an Error with the worker's own sentence; an AbortError when the signal is aborted, which ends the thread.
 */
export async function runWorker<Result, Progress = never>(
  url: URL,
  input: unknown,
  { signal, onProgress }: { signal?: AbortSignal; onProgress?: (progress: Progress) => void } = {},
): Promise<Result> {
  signal?.throwIfAborted();
  const worker = new Worker(url, { workerData: input });
  try {
    return await new Promise<Result>((resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
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
    await worker.terminate();
  }
}
