import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Mark } from './markers.ts';
import type { KeeperData, KeeperTask, RoundAnswer, RoundKeeping } from './writeBlobs.worker.ts';

interface Waiting {
  keeping: RoundKeeping;
  tell: (mark: Mark | null) => void;
  resolve: () => void;
  reject: (error: Error) => void;
}

/** So that nobody waits long for a round that others are in. */
const MAX_ROUND = 128;
/** So that a round waits for no more folders than are made in a few milliseconds. */
const FOLDERS_AT_ONCE = 32;

/**
 * Moves blobs to their names in a thread of its own, in rounds: what comes while one round is under way goes into the
 * next, so that many who keep blobs at once share the disk's work (see `writeBlobBatch`), and none of it holds the event
 * loop. The thread starts with the first blob.
 */
export class BlobWriter {
  readonly #data: KeeperData;
  readonly #thread: URL;
  #waiting: Waiting[] = [];
  #round: Waiting[] = [];
  #worker: Worker | undefined;
  #isScheduled = false;
  #shards: string[] = [];
  #idle: (() => void)[] = [];

  constructor(dataFolder: string, thread = threadUrl()) {
    this.#data = { dataFolder };
    this.#thread = thread;
  }

  /**
   * Resolves when the blob is on stable storage under its name; its bytes are the thread's from here on. `tell` hears
   * how it was marked, before this settles; where it is not called, nothing is known.
   */
  keep(keeping: RoundKeeping, tell: (mark: Mark | null) => void = () => {}): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ keeping, tell, resolve, reject });
      this.#schedule();
    });
  }

  /**
   * Says that a blob of this name will come, so that its folder is made while the thread has nothing else to do. Nothing
   * depends on it.
   */
  expect(target: string): void {
    this.#shards.push(dirname(target));
    if (this.#shards.length < FOLDERS_AT_ONCE) return;
    this.#worker ??= this.#start();
    this.#worker.postMessage({ shards: this.#shards } satisfies KeeperTask);
    if (this.#round.length === 0) this.#worker.unref();
    this.#shards = [];
  }

  /** Waits for what is under way and until all that is kept has its own place on stable storage; ends the thread. */
  async close(): Promise<void> {
    if (this.#waiting.length > 0 || this.#round.length > 0) {
      await new Promise<void>((resolve) => this.#idle.push(resolve));
    }
    const worker = this.#worker;
    this.#worker = undefined;
    if (!worker) return;
    // Not `once` of node:events, which an error of the thread would make fail: it has ended all the same.
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    worker.ref();
    worker.postMessage('end' satisfies KeeperTask);
    await ended;
  }

  /** Those who come in one turn of the event loop go together. */
  #schedule(): void {
    if (this.#isScheduled || this.#round.length > 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#begin();
    });
  }

  #begin(): void {
    this.#round = this.#waiting.splice(0, MAX_ROUND);
    const keepings = this.#round.map(({ keeping }) => keeping);
    this.#worker ??= this.#start();
    this.#worker.ref();
    this.#worker.postMessage(
      keepings satisfies KeeperTask,
      keepings.flatMap(({ bytes }) => (bytes ? [bytes.buffer as ArrayBuffer] : [])),
    );
  }

  #start(): Worker {
    const worker = new Worker(this.#thread, { workerData: this.#data });
    worker.on('message', (answer: RoundAnswer) => {
      for (const [index, { mark }] of answer.entries()) this.#round[index]?.tell(mark);
      this.#end(answer.map(({ failure }) => errorOf(failure)));
    });
    worker.on('error', (error: Error) => this.#lose(worker, error));
    worker.on('exit', () => this.#lose(worker, new Error('The thread that keeps blobs ended.')));
    return worker;
  }

  /** What was in the round of a thread that died is not known to be kept; the next round starts another. */
  #lose(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#end(this.#round.map(() => error));
  }

  #end(failures: (Error | undefined)[]): void {
    // An idle thread does not keep the process alive.
    this.#worker?.unref();
    const round = this.#round;
    this.#round = [];
    if (this.#waiting.length > 0) this.#begin();
    for (const [index, { resolve, reject }] of round.entries()) {
      const failure = failures[index];
      if (failure) reject(failure);
      else resolve();
    }
    if (this.#round.length > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}

/** The thread's code is `.ts` in a checkout, `.js` once built. */
function threadUrl(): URL {
  const ending = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
  return new URL(`./writeBlobs.worker${ending}`, import.meta.url);
}

function errorOf(told: RoundAnswer[number]['failure']): Error | undefined {
  return told ? Object.assign(new Error(told.message), { code: told.code }) : undefined;
}
