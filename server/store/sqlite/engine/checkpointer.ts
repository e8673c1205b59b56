import { statSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

export type CheckpointTask = 'checkpoint' | 'end';
/** Whether the log was copied to its end, so that the next commit begins it anew. */
export type CheckpointAnswer = { isWhole: boolean };

/** While there are commits, this long after the first of them. */
const EVERY_MS = 500;
/** A log that never grew beyond this is left to SQLite. */
const SMALL_LOG_BYTES = 4_194_304;
/** A log of this size is copied to its end before more is added: until it is, it can only grow. */
const LONG_LOG_BYTES = 33_554_432;

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
  /** Whether nothing was committed since the log was copied to its end. */
  #isWhole = false;
  /** A reader that stays keeps the log from being copied to its end; it is not waited for again before this time. */
  #waitNotBefore = 0;
  #waiting: (() => void)[] = [];

  constructor(databaseFile: string) {
    this.#file = databaseFile;
  }

  /** Something was committed. */
  readonly committed = (): void => {
    this.#isWhole = false;
    this.#timer ??= setTimeout(() => this.#checkpoint(), EVERY_MS).unref();
  };

  /** Resolves when more may be added to the log: nobody commits meanwhile. Undefined where it may be at once. */
  room(): Promise<void> | undefined {
    if (this.#isWhole || performance.now() < this.#waitNotBefore) return undefined;
    if (this.#logBytes() < LONG_LOG_BYTES) return undefined;
    return this.#copyAll();
  }

  async #copyAll(): Promise<void> {
    // What is under way may have begun before the last commit.
    if (this.#isBusy) await this.#pass();
    this.#begin();
    await this.#pass();
    if (!this.#isWhole) this.#waitNotBefore = performance.now() + EVERY_MS;
  }

  /** Resolves when the thread has answered, or has ended. */
  #pass(): Promise<void> {
    this.#worker?.ref();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #checkpoint(): void {
    this.#timer = undefined;
    if (this.#isBusy) return this.committed();
    if (this.#worker || this.#logBytes() >= SMALL_LOG_BYTES) this.#begin();
  }

  #begin(): void {
    this.#worker ??= this.#start();
    this.#isBusy = true;
    this.#worker.postMessage('checkpoint' satisfies CheckpointTask);
  }

  #end({ isWhole }: CheckpointAnswer): void {
    this.#isBusy = false;
    this.#isWhole = isWhole;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #logBytes(): number {
    return statSync(`${this.#file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  #start(): Worker {
    const ending = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
    const worker = new Worker(new URL(`./checkpoint.worker${ending}`, import.meta.url), {
      workerData: this.#file,
    });
    worker.unref();
    worker.on('message', (answer: CheckpointAnswer) => {
      // One that is being ended is waited for.
      if (this.#worker === worker) worker.unref();
      this.#end(answer);
    });
    // Without the thread the writing connection does it; the next time another thread is tried.
    worker.on('error', () => this.#forget(worker));
    worker.on('exit', () => this.#forget(worker));
    return worker;
  }

  #forget(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#end({ isWhole: false });
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
