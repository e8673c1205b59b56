import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { workerUrl } from '../../runtime/workerUrl.ts';
import type { Mark } from './markers.ts';
import type { BatchResult, BlobWriteRequest, WorkerTask, WriterData } from './writeBlobs.worker.ts';

interface Waiting {
  write: BlobWriteRequest;
  onMarked: (mark: Mark | null) => void;
  resolve: () => void;
  reject: (error: Error) => void;
}

/** The largest batch. Bounds how long its first blob waits for the last. */
const MAX_BATCH = 128;
/** How many folders are created in one message, so that a batch behind it waits only a few milliseconds. */
const FOLDERS_AT_ONCE = 32;

/**
 * Writes blobs durably in a worker thread, in batches. Blobs that arrive while one batch is written go into the next,
 * so that concurrent writes share the cost of syncing (see `writeBlobBatch`) and do not block the event loop. The thread is
 * started with the first blob.
 */
export class BlobWriter {
  readonly #data: WriterData;
  readonly #thread: URL;
  #waiting: Waiting[] = [];
  #batch: Waiting[] = [];
  #worker: Worker | undefined;
  #isScheduled = false;
  #shards: string[] = [];
  #idle: (() => void)[] = [];

  constructor(dataFolder: string, thread = workerUrl('writeBlobs', import.meta.url)) {
    this.#data = { dataFolder };
    this.#thread = thread;
  }

  /**
   * Resolves when the blob is on stable storage under its name. Its bytes are transferred to the thread. `onMarked` is
   * called with the marker that was written for it, before the promise settles; it is not called if the thread ended.
   */
  write(write: BlobWriteRequest, onMarked: (mark: Mark | null) => void = () => {}): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ write, onMarked, resolve, reject });
      this.#schedule();
    });
  }

  /**
   * Announces a blob of this name, so that the idle thread can create its folder. This is only an optimization.
   */
  expect(target: string): void {
    this.#shards.push(dirname(target));
    if (this.#shards.length < FOLDERS_AT_ONCE) return;
    this.#worker ??= this.#start();
    this.#worker.postMessage({ shards: this.#shards } satisfies WorkerTask);
    if (this.#batch.length === 0) this.#worker.unref();
    this.#shards = [];
  }

  /** Waits for pending writes, flushes the journal and ends the thread. */
  async close(): Promise<void> {
    if (this.#waiting.length > 0 || this.#batch.length > 0) {
      await new Promise<void>((resolve) => this.#idle.push(resolve));
    }
    const worker = this.#worker;
    this.#worker = undefined;
    if (!worker) return;
    // `once` of node:events would reject if the thread fails, but the thread has ended then too.
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    worker.ref();
    worker.postMessage('end' satisfies WorkerTask);
    await ended;
  }

  /** Blobs that arrive in one turn of the event loop go into one batch. */
  #schedule(): void {
    if (this.#isScheduled || this.#batch.length > 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#begin();
    });
  }

  #begin(): void {
    this.#batch = this.#waiting.splice(0, MAX_BATCH);
    const writes = this.#batch.map(({ write }) => write);
    this.#worker ??= this.#start();
    this.#worker.ref();
    this.#worker.postMessage(
      writes satisfies WorkerTask,
      writes.flatMap(({ bytes }) => (bytes ? [bytes.buffer as ArrayBuffer] : [])),
    );
  }

  #start(): Worker {
    const worker = new Worker(this.#thread, { workerData: this.#data });
    worker.on('message', (results: BatchResult) => {
      for (const [index, { mark }] of results.entries()) this.#batch[index]?.onMarked(mark);
      this.#end(results.map(({ failure }) => toError(failure)));
    });
    worker.on('error', (error: Error) => this.#lose(worker, error));
    worker.on('exit', () => this.#lose(worker, new Error('The thread that writes blobs ended.')));
    return worker;
  }

  /** Rejects the batch of a thread that ended: it is unknown which blobs were written. The next batch starts another. */
  #lose(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#end(this.#batch.map(() => error));
  }

  #end(failures: (Error | undefined)[]): void {
    // An idle thread does not keep the process alive.
    this.#worker?.unref();
    const batch = this.#batch;
    this.#batch = [];
    if (this.#waiting.length > 0) this.#begin();
    for (const [index, { resolve, reject }] of batch.entries()) {
      const failure = failures[index];
      if (failure) reject(failure);
      else resolve();
    }
    if (this.#batch.length > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}

function toError(failure: BatchResult[number]['failure']): Error | undefined {
  return failure ? Object.assign(new Error(failure.message), { code: failure.code }) : undefined;
}
