import { Worker } from 'node:worker_threads';

/** What a worker thread says: progress as often as it likes, then one result or one failure. */
export type WorkerMessage<Result, Progress> =
  | { progress: Progress }
  | { result: Result }
  | { failure: string };

/**
 * Where the code of a worker is: `.ts` from a checkout, in the folder of the module that asks for it; `.js` once built,
 * when everything is in one folder.
 */
export function workerUrl(name: string, from = import.meta.url): URL {
  const ending = from.endsWith('.ts') ? '.ts' : '.js';
  return new URL(`./${name}.worker${ending}`, from);
}

/**
 * Runs `server/workers/<name>.worker.ts` (`.js` once built), or a worker that lies elsewhere, in a thread of its own and
 * resolves with its result.
 *
 * @throws an Error with the worker's own sentence; an AbortError when the signal is aborted, which ends the thread.
 */
export async function runWorker<Result, Progress = never>(
  name: string | URL,
  input: unknown,
  { signal, onProgress }: { signal?: AbortSignal; onProgress?: (progress: Progress) => void } = {},
): Promise<Result> {
  signal?.throwIfAborted();
  const worker = new Worker(typeof name === 'string' ? workerUrl(name) : name, { workerData: input });
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
        reject(new Error(`The worker ${String(name)} ended early with code ${code}.`)),
      );
    });
  } finally {
    await worker.terminate();
  }
}
