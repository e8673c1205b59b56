import { basename } from 'node:path';
import { parentPort, Worker } from 'node:worker_threads';
import { after } from './background.ts';
import { workerUrl } from './workerUrl.ts';

/** The tasks of `threads.worker.ts`. */
export type ThreadTask =
  | 'auditSlice'
  | 'checkDatabase'
  | 'checkRecord'
  | 'checkSelectors'
  | 'copyFile'
  | 'describe'
  | 'hashFiles'
  | 'hashJoined'
  | 'parseSet'
  | 'readCitations'
  | 'readRecord'
  | 'readSourceList'
  | 'runAge'
  | 'unnamedSlice'
  | 'verifyLedger';

interface ThreadOptions {
  /** Ends the thread. */
  signal?: AbortSignal | undefined;
  onProgress?: ((progress: number) => void) | undefined;
}

/** How long a thread waits for its next task. To start one and to load its code takes up to 0.3 s. */
const IDLE_MS = 5_000;
/** As many as copy files at once: a copy of many files would start threads again and again. Each takes 10 to 50 MB. */
const MAX_IDLE = 4;

interface IdleThread {
  worker: Worker;
  end: NodeJS.Timeout;
}
const idle: IdleThread[] = [];

/**
 * Runs a task in a thread: one that waits for a task, or a new one. How many run at once is limited by each caller.
 *
 * @throws an Error with the task's message; an AbortError if the signal is aborted, which ends the thread
 */
export async function runInThread<Result>(
  task: ThreadTask,
  input: unknown,
  { signal, onProgress }: ThreadOptions = {},
): Promise<Result> {
  signal?.throwIfAborted();
  const worker = takeIdle() ?? start();
  try {
    worker.postMessage({ task, input });
    const result = await answerOf<Result, number>(worker, { signal, onProgress });
    await keepIdle(worker);
    return result;
  } catch (error) {
    await worker.terminate();
    throw error;
  }
}

function start(): Worker {
  const worker = new Worker(workerUrl('../threads', import.meta.url));
  // An error ends the thread. The task that runs gets it; without one, it says nothing about any task.
  worker.on('error', () => forget(worker)).on('exit', () => forget(worker));
  return worker;
}

function forget(worker: Worker): void {
  const place = idle.findIndex((thread) => thread.worker === worker);
  const [thread] = place < 0 ? [] : idle.splice(place, 1);
  clearTimeout(thread?.end);
}

function takeIdle(): Worker | undefined {
  const thread = idle.pop();
  if (!thread) return undefined;
  clearTimeout(thread.end);
  thread.worker.ref();
  return thread.worker;
}

/** Lets a thread wait for its next task. That does not keep the process alive. */
async function keepIdle(worker: Worker): Promise<void> {
  if (idle.length >= MAX_IDLE) return void (await worker.terminate());
  worker.unref();
  const end = after(IDLE_MS, () => {
    forget(worker);
    return worker.terminate();
  });
  end.unref();
  idle.push({ worker, end });
}

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

/** For the code of a worker thread: does its work and sends the result, or the message of the error, to `runWorker`. */
export async function answerParent(work: () => unknown): Promise<void> {
  try {
    const result = await work();
    parentPort?.postMessage({ result });
  } catch (error) {
    parentPort?.postMessage({ failure: error instanceof Error ? error.message : String(error) });
  }
}
