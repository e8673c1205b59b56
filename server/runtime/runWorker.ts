import { basename } from 'node:path';
import { Worker } from 'node:worker_threads';

/** A message from a worker thread: any number of progress messages, then one result or one failure. */
export type WorkerMessage<Result, Progress> =
  | { progress: Progress }
  | { result: Result }
  | { failure: string };

interface WorkerOptions<Progress> {
  signal?: AbortSignal | undefined;
  onProgress?: ((progress: Progress) => void) | undefined;
}

/**
 * Runs a long job in a worker thread of its own and resolves with its result. Short tasks share threads (`runInThread`).
 *
 * @param url from `workerUrl`
 * @throws an Error with the worker's message; an AbortError if the signal is aborted, which ends the thread.
 */
export async function runWorker<Result, Progress = never>(
  url: URL,
  input: unknown,
  options: WorkerOptions<Progress> = {},
): Promise<Result> {
  options.signal?.throwIfAborted();
  const worker = new Worker(url, { workerData: input });
  try {
    return await answerOf<Result, Progress>(worker, options, basename(url.pathname));
  } finally {
    await worker.terminate();
  }
}

/** Resolves with the next result of a thread, and leaves no listeners at it or at the signal. */
export async function answerOf<Result, Progress>(
  worker: Worker,
  { signal, onProgress }: WorkerOptions<Progress>,
  name = 'thread',
): Promise<Result> {
  const ended = new AbortController();
  try {
    return await new Promise<Result>((resolve, reject) => {
      const on = { signal: ended.signal };
      signal?.addEventListener('abort', () => reject(signal.reason as Error), on);
      const listen = (message: WorkerMessage<Result, Progress>) => {
        if ('progress' in message) onProgress?.(message.progress);
        else if ('result' in message) resolve(message.result);
        else reject(new Error(message.failure));
      };
      const exit = (code: number) => reject(new Error(`The ${name} ended early with code ${code}.`));
      worker.on('message', listen).on('error', reject).on('exit', exit);
      ended.signal.addEventListener('abort', () => {
        worker.off('message', listen).off('error', reject).off('exit', exit);
      });
    });
  } finally {
    // One signal may outlive thousands of threads, as that of an audit does.
    ended.abort();
  }
}
