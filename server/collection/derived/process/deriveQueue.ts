import type { StartChild } from '../../../runtime/child.ts';
import type { Log } from '../../../runtime/log.ts';
import { NotDerivableError } from '../notDerivable.ts';
import { DeriveProcess } from './deriveProcess.ts';
import type { DeriveTask } from './tasks.ts';

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

export interface DeriveQueueOptions {
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
    void this.#next();
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
    void this.#next();
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
  return 'object' in task ? task.object.source : task.to.source;
}
