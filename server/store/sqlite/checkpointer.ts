import { statSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

export type CheckpointTask = 'checkpoint' | 'end';

/** While there are commits, this long after the first of them. */
const EVERY_MS = 500;
/** A log that never grew beyond this is left to SQLite. */
const SMALL_LOG_BYTES = 4_194_304;

/**
 * Copies what is committed from the write-ahead log into the database file, in a thread of its own: it reads and syncs
 * megabytes, and whoever commits would hold the event loop meanwhile. Nothing depends on it: a commit is on stable
 * storage in the log, and where the log grows all the same, the writing connection copies it (`wal_autocheckpoint`).
 */
export class Checkpointer {
  readonly #file: string;
  #timer: NodeJS.Timeout | undefined;
  #worker: Worker | undefined;
  #isBusy = false;

  constructor(databaseFile: string) {
    this.#file = databaseFile;
  }

  /** Something was committed. */
  readonly committed = (): void => {
    this.#timer ??= setTimeout(() => this.#checkpoint(), EVERY_MS).unref();
  };

  #checkpoint(): void {
    this.#timer = undefined;
    if (this.#isBusy) return this.committed();
    if (!this.#worker && statSync(`${this.#file}-wal`).size < SMALL_LOG_BYTES) return;
    this.#worker ??= this.#start();
    this.#isBusy = true;
    this.#worker.postMessage('checkpoint' satisfies CheckpointTask);
  }

  #start(): Worker {
    const ending = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
    const worker = new Worker(new URL(`./checkpoint.worker${ending}`, import.meta.url), {
      workerData: this.#file,
    });
    worker.unref();
    worker.on('message', () => {
      this.#isBusy = false;
    });
    // Without the thread the writing connection does it; the next time another thread is tried.
    worker.on('error', () => this.#forget(worker));
    worker.on('exit', () => this.#forget(worker));
    return worker;
  }

  #forget(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#isBusy = false;
  }

  /** Ends the thread and closes its connection. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    const worker = this.#worker;
    this.#worker = undefined;
    if (!worker) return;
    // Not `once` of node:events, which an error of the thread would make fail: it has ended all the same.
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    worker.ref();
    worker.postMessage('end' satisfies CheckpointTask);
    await ended;
  }
}
