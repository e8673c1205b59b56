import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { workerUrl } from '../../runtime/workerUrl.ts';
import type { FileResult, FileTask } from './copyFile.ts';
import type { FileAnswer, FileRequest } from './copyFile.worker.ts';

/** More threads do not copy faster: the disk is then the limit. */
const MAX_THREADS = 4;

interface FileThread {
  worker: Worker;
  pending: Map<number, { resolve: (result: FileResult) => void; reject: (error: Error) => void }>;
}

/**
 * Copies and hashes files in threads, so that neither holds up the event loop. A thread is started when all others are
 * busy, and all end with `close`.
 */
export class FileThreads {
  readonly #threads: FileThread[] = [];
  #last = 0;

  /** @throws the signal's reason; the file that was being written may then be left */
  async run(task: FileTask, signal?: AbortSignal): Promise<FileResult> {
    signal?.throwIfAborted();
    const thread = this.#idlest();
    this.#last += 1;
    const id = this.#last;
    const aborted = new AbortController();
    try {
      return await new Promise<FileResult>((resolve, reject) => {
        thread.pending.set(id, { resolve, reject });
        signal?.addEventListener('abort', () => reject(signal.reason as Error), {
          signal: aborted.signal,
        });
        thread.worker.ref();
        thread.worker.postMessage({ id, ...task } satisfies FileRequest);
      });
    } finally {
      aborted.abort();
      thread.pending.delete(id);
      // An idle thread does not keep the process alive.
      if (thread.pending.size === 0) thread.worker.unref();
    }
  }

  #idlest(): FileThread {
    let least = this.#threads[0];
    for (const thread of this.#threads)
      if (least === undefined || thread.pending.size < least.pending.size) least = thread;
    const isFull = this.#threads.length >= Math.min(MAX_THREADS, availableParallelism());
    return least && (isFull || least.pending.size === 0) ? least : this.#start();
  }

  #start(): FileThread {
    const worker = new Worker(workerUrl('copyFile', import.meta.url));
    const thread: FileThread = { worker, pending: new Map() };
    const lose = (error: Error) => {
      const index = this.#threads.indexOf(thread);
      if (index >= 0) this.#threads.splice(index, 1);
      for (const { reject } of thread.pending.values()) reject(error);
    };
    worker.on('message', ({ id, result }: FileAnswer) => thread.pending.get(id)?.resolve(result));
    worker.on('error', lose);
    worker.on('exit', () => lose(new Error('The thread that copies files ended.')));
    this.#threads.push(thread);
    return thread;
  }

  /** Ends the threads. What they were doing fails. */
  close(): void {
    for (const { worker } of this.#threads.splice(0)) void worker.terminate();
  }
}
