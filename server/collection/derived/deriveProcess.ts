import { fileURLToPath } from 'node:url';
import { type Child, type ChildEnd, forkChild, type StartChild } from '../../runtime/child.ts';
import type { Log } from '../../runtime/log.ts';
import { workerUrl } from '../../runtime/runWorker.ts';
import type { DeriveReply, DeriveRequest } from './derive.worker.ts';
import { NotDerivableError } from './notDerivable.ts';
import type { DeriveTask, ResultOf } from './tasks.ts';

interface Running {
  id: number;
  timeoutMs: number;
  resolve: (result: never) => void;
  reject: (error: unknown) => void;
}

/** What its JavaScript may take. Buffers are beside that, bounded by what a task reads. */
const MOST_HEAP_MB = 384;
/** A process that had nothing to do for so long is ended, and its memory given back. */
const IDLE_MS = 30_000;
/** A process that does not even start by then is given up. */
const START_MS = 30_000;

/**
 * A process in which documents are derived, one at a time. A task that takes too long, or more memory than it may, loses
 * the process, and the next one has a new one. It is no thread: V8 ends the whole process when a thread's heap is full
 * at the wrong moment, and a hostile page knows how to make that moment.
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
   * Runs one task; the one before it must be over. Its time counts from when the process has started.
   *
   * @throws NotDerivableError where nothing can be made of the object.
   */
  run<Task extends DeriveTask>(task: Task, timeoutMs: number): Promise<ResultOf<Task>> {
    clearTimeout(this.#timer);
    return new Promise<ResultOf<Task>>((resolve, reject) => {
      const running = { id: this.#nextId++, timeoutMs, resolve, reject };
      this.#running = running;
      this.#process ??= this.#start();
      this.#process.send({ id: running.id, task } satisfies DeriveRequest);
      if (this.#isReady) this.#limit(running);
      else this.#timer = setTimeout(() => this.#lose(new Error('The process did not start.')), START_MS);
    });
  }

  #limit({ timeoutMs }: Running): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const seconds = Math.round(timeoutMs / 1000);
      this.#lose(new NotDerivableError('time_out', `It took longer than ${seconds} seconds.`));
    }, timeoutMs);
  }

  #start(): Child {
    this.#isReady = false;
    // A process that was given up may still say a last word; it is no longer listened to.
    const isCurrent = () => this.#process === started;
    const started = this.#startChild({
      script: fileURLToPath(workerUrl('derive', import.meta.url)),
      heapMb: MOST_HEAP_MB,
      onMessage: (message) => {
        if (isCurrent()) this.#hear(message as DeriveReply);
      },
      onEnd: (end) => {
        if (isCurrent()) this.#lose(end.outOfMemory ? outOfMemory() : endedEarly(end));
      },
    });
    return started;
  }

  #hear(reply: DeriveReply): void {
    if ('isReady' in reply) {
      this.#isReady = true;
      if (this.#running) this.#limit(this.#running);
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

  /** The process is given up, and with it the task that it had. */
  #lose(error: Error): void {
    const isNamed = error instanceof NotDerivableError;
    if (!isNamed) this.#log.error({ error }, 'The process that derives documents failed');
    const running = this.#running && this.#finish();
    // Told once it is gone, so that there are never more of them than there may be.
    void this.end().then(() => running?.reject(isNamed ? error : toolFailed(error)));
  }

  #finish(): Running {
    const running = this.#running;
    if (!running) throw new Error('No task was running.');
    this.#running = undefined;
    clearTimeout(this.#timer);
    return running;
  }

  /** Ends the process; a task that it had is answered by nobody. */
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
  return new Error(`The process ended early: ${reason}.`);
}

function toolFailed(cause?: Error): NotDerivableError {
  return new NotDerivableError('tool_failed', 'The tool that reads such objects failed on this one.', cause);
}
