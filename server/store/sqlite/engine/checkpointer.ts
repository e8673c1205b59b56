import { statSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { after } from '../../../runtime/background.ts';
import { workerUrl } from '../../../runtime/workerUrl.ts';

export type CheckpointTask = 'checkpoint' | 'end';
/** Whether the whole log was copied, so that the next commit starts it from the beginning. */
export type CheckpointAnswer = { isComplete: boolean };

/** The delay from a commit to the next checkpoint. */
const EVERY_MS = 500;
/** The thread ends when nothing was committed for this long, to free its memory of some megabytes. */
const IDLE_MS = 5_000;
/** A log that never exceeds this size is left to SQLite. */
const SMALL_LOG_BYTES = 4_194_304;
/** At this size, commits wait for a complete checkpoint: without one, the log can only grow. */
const LONG_LOG_BYTES = 33_554_432;

/**
 * Checkpoints the database in a worker thread: copies committed pages from the write-ahead log into the database file.
 * This reads and syncs megabytes and would block the event loop. Durability does not depend on it: commits are on stable
 * storage in the log, and if the log still grows, the writing connection checkpoints it (`wal_autocheckpoint`).
 */
export class Checkpointer {
  readonly #file: string;
  readonly #warn: (error: unknown) => void;
  readonly #idleMs: number;
  #timer: NodeJS.Timeout | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #worker: Worker | undefined;
  /** Resolves when the last thread that was told to end has ended. */
  #ended: Promise<void> | undefined;
  #isBusy = false;
  /** Whether the log was copied completely and nothing was committed since. */
  #isComplete = false;
  /** A long-running reader prevents a complete checkpoint. Commits do not wait for another before this time. */
  #waitNotBefore = 0;
  #waiting: (() => void)[] = [];

  /**
   * @param warn receives the errors of checkpoints that no commit waits for; the next commit leads to another attempt
   * @param idleMs how long after the last commit the thread ends
   */
  constructor(databaseFile: string, warn: (error: unknown) => void, idleMs = IDLE_MS) {
    this.#file = databaseFile;
    this.#warn = warn;
    this.#idleMs = idleMs;
  }

  /** Call this after each commit. */
  readonly committed = (): void => {
    this.#isComplete = false;
    clearTimeout(this.#idleTimer);
    this.#timer ??= after(EVERY_MS, () => this.#checkpoint(), this.#warn).unref();
  };

  /** Resolves when the next commit may be made; undefined if it may be made at once. Do not commit meanwhile. */
  whenReady(): Promise<void> | undefined {
    if (this.#isComplete || performance.now() < this.#waitNotBefore) return undefined;
    if (this.#logBytes() < LONG_LOG_BYTES) return undefined;
    return this.#copyAll();
  }

  async #copyAll(): Promise<void> {
    // A running checkpoint may have begun before the last commit.
    if (this.#isBusy) await this.#finished();
    this.#begin();
    await this.#finished();
    if (!this.#isComplete) this.#waitNotBefore = performance.now() + EVERY_MS;
  }

  /** Resolves when the thread has answered or ended. */
  #finished(): Promise<void> {
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

  #end({ isComplete }: CheckpointAnswer): void {
    this.#isBusy = false;
    this.#isComplete = isComplete;
    for (const resolve of this.#waiting.splice(0)) resolve();
    clearTimeout(this.#idleTimer);
    if (isComplete && !this.#timer)
      this.#idleTimer = after(
        this.#idleMs,
        () => {
          if (!this.#isBusy) this.#endThread();
        },
        this.#warn,
      ).unref();
  }

  #logBytes(): number {
    return statSync(`${this.#file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  #start(): Worker {
    const worker = new Worker(workerUrl('checkpoint', import.meta.url), { workerData: this.#file });
    worker.unref();
    worker.on('message', (answer: CheckpointAnswer) => {
      // `#endThread` keeps its worker referenced to await it.
      if (this.#worker === worker) worker.unref();
      this.#end(answer);
    });
    // Until the next attempt starts a new thread, the writing connection checkpoints.
    worker.on('error', () => this.#forget(worker));
    worker.on('exit', () => this.#forget(worker));
    return worker;
  }

  #forget(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#end({ isComplete: false });
  }

  /** Resolves when no thread has a connection any more. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    clearTimeout(this.#idleTimer);
    this.#endThread();
    await this.#ended;
  }

  /** Ends the thread, which closes its connection. The next checkpoint starts another. */
  #endThread(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    if (!worker) return;
    // `once` of node:events would reject if the thread fails, but the thread has ended then too.
    this.#ended = new Promise((resolve) => worker.once('exit', () => resolve()));
    worker.ref();
    worker.postMessage('end' satisfies CheckpointTask);
  }
}
