import { fileURLToPath } from 'node:url';
import { after, inBackground } from '../../../runtime/background.ts';
import { type Child, type ChildEnd, forkChild, type StartChild } from '../../../runtime/child.ts';
import type { Log } from '../../../runtime/log.ts';
import { workerUrl } from '../../../runtime/workerUrl.ts';
import type { DeriveReply, DeriveRequest } from './derive.worker.ts';
import { type DeriveTask, NotDerivableError, type ResultOf } from './tasks.ts';

/** A task in the queue. */
export interface QueuedTask {
  task: DeriveTask;
  timeoutMs: number;
  priority: Priority;
  resolve: (result: never) => void;
  reject: (error: unknown) => void;
}

/** `low` is background work; it runs when no `normal` task is queued. */
export type Priority = 'normal' | 'low';

/** Called when a task has succeeded, with its duration. */
type OnDone = (task: QueuedTask, ms: number) => void;

interface DeriveQueueOptions {
  /** The time limit of this queue. A task may have a shorter one. */
  maxMs: number;
  onDone: OnDone;
  /** Called with a task that exceeded the limit of this queue, but not its own. Without it, the task fails. */
  onTooSlow?: (task: QueuedTask) => void;
  startChild: StartChild | undefined;
}

/**
 * A queue of tasks for one process. Normal tasks run before background ones. Among equal priorities, the source served
 * least recently is next, so that a source with many documents does not hold up the others.
 */
export class DeriveQueue {
  readonly #process: DeriveProcess;
  readonly #maxMs: number;
  readonly #onDone: OnDone;
  readonly #onTooSlow: ((task: QueuedTask) => void) | undefined;
  readonly #queued: QueuedTask[] = [];
  /** The turn in which each source was last served. */
  readonly #served = new Map<number | undefined, number>();
  #current: QueuedTask | undefined;
  #turns = 0;
  #isClosed = false;

  constructor(log: Log, { maxMs, onDone, onTooSlow, startChild }: DeriveQueueOptions) {
    this.#process = new DeriveProcess(log, startChild);
    this.#maxMs = maxMs;
    this.#onDone = onDone;
    this.#onTooSlow = onTooSlow;
  }

  /** The number of queued tasks, without the running one. */
  get length(): number {
    return this.#queued.length;
  }

  push(task: QueuedTask): void {
    this.#queued.push(task);
    inBackground(() => this.#next());
  }

  async #next(): Promise<void> {
    if (this.#current || this.#isClosed) return;
    const next = this.#dequeue();
    if (!next) return;
    this.#current = next;
    const started = performance.now();
    const limit = Math.min(next.timeoutMs, this.#maxMs);
    try {
      const result = await this.#process.run(next.task, limit);
      this.#onDone(next, performance.now() - started);
      next.resolve(result as never);
    } catch (error) {
      const isTooSlow = error instanceof NotDerivableError && error.reason === 'time_out';
      if (isTooSlow && limit < next.timeoutMs && this.#onTooSlow) this.#onTooSlow(next);
      else next.reject(error);
    }
    this.#current = undefined;
    inBackground(() => this.#next());
  }

  #dequeue(): QueuedTask | undefined {
    let best: { queued: QueuedTask; rank: number } | undefined;
    for (const queued of this.#queued) {
      const served = this.#served.get(sourceOf(queued.task)) ?? 0;
      const rank = queued.priority === 'normal' ? served : this.#turns + 1 + served;
      if (!best || rank < best.rank) best = { queued, rank };
    }
    if (!best) {
      this.#served.clear();
      this.#turns = 0;
      return undefined;
    }
    const { queued } = best;
    this.#queued.splice(this.#queued.indexOf(queued), 1);
    this.#turns += 1;
    this.#served.set(sourceOf(queued.task), this.#turns);
    return queued;
  }

  /** Ends the process and returns the unfinished tasks. */
  async close(): Promise<QueuedTask[]> {
    this.#isClosed = true;
    const left = [this.#current, ...this.#queued.splice(0)].filter((one) => one !== undefined);
    await this.#process.end();
    return left;
  }
}

/** Returns the key of the source whose object a task reads. */
export function sourceOf(task: DeriveTask): number | undefined {
  if ('object' in task) return task.object.source;
  if ('to' in task) return task.to.source;
  return 'source' in task ? task.source : undefined;
}

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
class DeriveProcess {
  readonly #log: Log;
  readonly #startChild: StartChild;
  readonly #logFailure = (error: unknown) =>
    this.#log.error({ error }, 'The process that derives documents could not be ended');
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
      else
        this.#timer = after(
          START_MS,
          () => this.#fail(new Error('The process did not start.')),
          this.#logFailure,
        );
    });
  }

  #startTimeout({ timeoutMs }: Running): void {
    clearTimeout(this.#timer);
    const fail = () => {
      const seconds = Math.round(timeoutMs / 1000);
      this.#fail(new NotDerivableError('time_out', `It took longer than ${seconds} seconds.`));
    };
    this.#timer = after(timeoutMs, fail, this.#logFailure);
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
    this.#timer = after(IDLE_MS, () => this.end(), this.#logFailure).unref();
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
    inBackground(async () => {
      try {
        await this.end();
      } finally {
        running?.reject(isExpected ? error : toolFailed(error));
      }
    }, this.#logFailure);
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
  return new NotDerivableError('out_of_memory', 'It used too much memory.');
}

function endedEarly({ reason }: ChildEnd): Error {
  return new Error(`The process ended unexpectedly: ${reason}.`);
}

function toolFailed(cause?: Error): NotDerivableError {
  return new NotDerivableError('tool_failed', 'The tool that reads such objects failed on this one.', cause);
}
