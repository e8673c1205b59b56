import { fileURLToPath } from 'node:url';
import { type Child, type ChildEnd, forkChild, type StartChild } from '../../../runtime/child.ts';
import type { Log } from '../../../runtime/log.ts';
import { workerUrl } from '../../../runtime/workerUrl.ts';
import { NotDerivableError } from '../notDerivable.ts';
import type { DeriveReply, DeriveRequest } from './derive.worker.ts';
import type { DeriveTask, ResultOf } from './tasks.ts';

interface Running {
  id: number;
  timeoutMs: number;
  resolve: (result: never) => void;
  reject: (error: unknown) => void;
}

/** Limit on the JavaScript heap. Buffers come on top, limited by what a task reads. */
const MAX_HEAP_MB = 384;
/** An idle process is ended after this long, to free its memory. */
const IDLE_MS = 30_000;
/** A process that takes longer to start is killed. */
const START_MS = 30_000;

/**
 * A process that derives documents, one at a time. The process is killed if a task exceeds its time or memory; the next
 * task gets a new one. It is not a thread, because V8 can end the whole program when the heap of a thread is full, and a
 * hostile page can cause that.
 */
export class DeriveProcess {
  readonly #log: Log;
  readonly #startChild: StartChild;
  #process: Child | undefined;
  #isReady = false;
  #running: Running | undefined;
  #timer: NodeJS.Timeout | undefined;
  #nextId = 1;

  constructor(log: Log, startChild: StartChild = forkChild) {
    this.#log = log;
    this.#startChild = startChild;
  }

  /**
   * Runs one task. The previous one must be finished. The timeout counts from when the process is ready.
   *
   * @throws NotDerivableError if nothing can be derived from the object.
   */
  run<Task extends DeriveTask>(task: Task, timeoutMs: number): Promise<ResultOf<Task>> {
    clearTimeout(this.#timer);
    return new Promise<ResultOf<Task>>((resolve, reject) => {
      const running = { id: this.#nextId++, timeoutMs, resolve, reject };
      this.#running = running;
      this.#process ??= this.#start();
      this.#process.send({ id: running.id, task } satisfies DeriveRequest);
      if (this.#isReady) this.#startTimeout(running);
      else this.#timer = setTimeout(() => this.#fail(new Error('The process did not start.')), START_MS);
    });
  }

  #startTimeout({ timeoutMs }: Running): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const seconds = Math.round(timeoutMs / 1000);
      this.#fail(new NotDerivableError('time_out', `It took longer than ${seconds} seconds.`));
    }, timeoutMs);
  }

  #start(): Child {
    this.#isReady = false;
    // Messages of a process that was given up are ignored.
    const isCurrent = () => this.#process === started;
    const started = this.#startChild({
      script: fileURLToPath(workerUrl('derive', import.meta.url)),
      heapMb: MAX_HEAP_MB,
      onMessage: (message) => {
        if (isCurrent()) this.#onReply(message as DeriveReply);
      },
      onEnd: (end) => {
        if (isCurrent()) this.#fail(end.outOfMemory ? outOfMemory() : endedEarly(end));
      },
    });
    return started;
  }

  #onReply(reply: DeriveReply): void {
    if ('isReady' in reply) {
      this.#isReady = true;
      if (this.#running) this.#startTimeout(this.#running);
      return;
    }
    if (reply.id !== this.#running?.id) return;
    const { resolve, reject } = this.#finish();
    this.#timer = setTimeout(() => void this.end(), IDLE_MS).unref();
    if ('result' in reply) return resolve(reply.result as never);
    if ('refused' in reply)
      return reject(new NotDerivableError(reply.refused.reason, reply.refused.sentence));
    this.#log.warn({ failure: reply.failure }, 'A document could not be derived');
    reject(toolFailed());
  }

  /** Ends the process and rejects its task. */
  #fail(error: Error): void {
    const isExpected = error instanceof NotDerivableError;
    if (!isExpected) this.#log.error({ error }, 'The process that derives documents failed');
    const running = this.#running && this.#finish();
    // Rejected once the process is gone, so that the next task does not start a second one beside it.
    void this.end().then(() => running?.reject(isExpected ? error : toolFailed(error)));
  }

  #finish(): Running {
    const running = this.#running;
    if (!running) throw new Error('No task was running.');
    this.#running = undefined;
    clearTimeout(this.#timer);
    return running;
  }

  /** Ends the process. The promise of a running task is not settled. */
  async end(): Promise<void> {
    clearTimeout(this.#timer);
    const ended = this.#process;
    this.#process = undefined;
    this.#isReady = false;
    await ended?.kill();
  }
}

function outOfMemory(): NotDerivableError {
  return new NotDerivableError('out_of_memory', 'It took too much memory.');
}

function endedEarly({ reason }: ChildEnd): Error {
  return new Error(`The process ended unexpectedly: ${reason}.`);
}

function toolFailed(cause?: Error): NotDerivableError {
  return new NotDerivableError('tool_failed', 'The tool that reads such objects failed on this one.', cause);
}
