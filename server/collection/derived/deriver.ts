import { fileURLToPath } from 'node:url';
import { Problem } from '../../../shared/problems.ts';
import type { Log } from '../../log.ts';
import { type Child, type ChildEnd, forkNode, type StartChild } from '../../workers/child.ts';
import type { DeriveReply, DeriveRequest } from '../../workers/derive.worker.ts';
import { workerUrl } from '../../workers/runWorker.ts';
import { NotDerivableError } from './notDerivable.ts';
import type { DeriveTask, ResultOf } from './tasks.ts';

export interface DeriveOptions {
  /** How long it may take, from when it begins; then the process is ended. */
  timeoutMs: number;
  /** `low` waits until nobody else does: work that nobody asked for. */
  priority?: 'asked' | 'low';
}

interface Waiting extends Required<DeriveOptions> {
  id: number;
  task: DeriveTask;
  resolve: (result: never) => void;
  reject: (error: unknown) => void;
}

/** What its JavaScript may take. Buffers are beside that, bounded by what a task reads. */
const MOST_HEAP_MB = 384;
/** A process that had nothing to do for so long is ended, and its memory given back. */
const IDLE_MS = 30_000;
/** Whoever asks while so many wait is told to come again. */
const MOST_WAITING = 64;

/**
 * The one process in which documents are derived. Tasks follow each other; one that takes too long, or more memory than
 * it may, loses the process, and the next task has a new one. It is no thread: V8 ends the whole process when a thread's
 * heap is full at the wrong moment, and a hostile page knows how to make that moment.
 */
export class Deriver {
  readonly #log: Log;
  readonly #waiting: Waiting[] = [];
  readonly #startChild: StartChild;
  #process: Child | undefined;
  #current: Waiting | undefined;
  #timer: NodeJS.Timeout | undefined;
  #nextId = 1;
  #isClosed = false;

  constructor(log: Log, startChild: StartChild = forkNode) {
    this.#log = log;
    this.#startChild = startChild;
  }

  /**
   * Runs one task in the process.
   *
   * @throws NotDerivableError where nothing can be made of the object; Problem `derivation_busy`, `shutting_down`.
   */
  derive<Task extends DeriveTask>(task: Task, options: DeriveOptions): Promise<ResultOf<Task>> {
    const priority = options.priority ?? 'asked';
    if (this.#isClosed) return Promise.reject(shuttingDown());
    if (priority === 'asked' && this.#waiting.length >= MOST_WAITING)
      return Promise.reject(
        new Problem('derivation_busy', 'Too many documents are being made; try again in a minute.', {
          headers: { 'Retry-After': '60' },
        }),
      );
    return new Promise<ResultOf<Task>>((resolve, reject) => {
      const waiting = { id: this.#nextId++, task, timeoutMs: options.timeoutMs, priority, resolve, reject };
      const firstLow = this.#waiting.findIndex((other) => other.priority === 'low');
      if (priority === 'low' || firstLow === -1) this.#waiting.push(waiting);
      else this.#waiting.splice(firstLow, 0, waiting);
      this.#next();
    });
  }

  #next(): void {
    if (this.#current || this.#isClosed) return;
    clearTimeout(this.#timer);
    const next = this.#waiting.shift();
    if (!next) {
      this.#timer = setTimeout(() => void this.#endProcess(), IDLE_MS).unref();
      return;
    }
    this.#current = next;
    this.#process ??= this.#startProcess();
    this.#process.send({ id: next.id, task: next.task } satisfies DeriveRequest);
    this.#timer = setTimeout(() => {
      const seconds = Math.round(next.timeoutMs / 1000);
      this.#lose(new NotDerivableError('time_out', `It took longer than ${seconds} seconds.`));
    }, next.timeoutMs);
  }

  #startProcess(): Child {
    // A process that was given up may still say a last word; it is no longer listened to.
    const isCurrent = () => this.#process === started;
    const started = this.#startChild({
      script: fileURLToPath(workerUrl('derive')),
      heapMb: MOST_HEAP_MB,
      onMessage: (message) => {
        const reply = message as DeriveReply;
        if (isCurrent() && reply.id === this.#current?.id) this.#answer(reply);
      },
      onEnd: (end) => {
        if (isCurrent()) this.#lose(end.outOfMemory ? outOfMemory() : endedEarly(end));
      },
    });
    return started;
  }

  #answer(reply: DeriveReply): void {
    const { resolve, reject } = this.#finish();
    if ('result' in reply) resolve(reply.result as never);
    else if ('refused' in reply) reject(new NotDerivableError(reply.refused.reason, reply.refused.sentence));
    else {
      this.#log.warn({ failure: reply.failure }, 'A document could not be derived');
      reject(toolFailed());
    }
    this.#next();
  }

  /** The process is given up, and with it the task that it had. */
  #lose(error: Error): void {
    const current = this.#current && this.#finish();
    const isNamed = error instanceof NotDerivableError;
    if (!isNamed) this.#log.error({ error }, 'The process that derives documents failed');
    current?.reject(isNamed ? error : toolFailed(error));
    void this.#endProcess().then(() => this.#next());
  }

  #finish(): Waiting {
    const current = this.#current;
    if (!current) throw new Error('No task was running.');
    this.#current = undefined;
    clearTimeout(this.#timer);
    return current;
  }

  async #endProcess(): Promise<void> {
    const ended = this.#process;
    this.#process = undefined;
    await ended?.kill();
  }

  /** Ends the process; who waits is told that the node is being closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const { reject } of [this.#current, ...this.#waiting.splice(0)].filter((one) => one !== undefined))
      reject(shuttingDown());
    this.#current = undefined;
    await this.#endProcess();
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

function shuttingDown(): Problem {
  return new Problem('shutting_down', 'The node is being closed; try again when it runs.');
}
