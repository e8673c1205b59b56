import type { StartChild } from '../../runtime/child.ts';
import type { Log } from '../../runtime/log.ts';
import { DeriveProcess } from './deriveProcess.ts';
import { NotDerivableError } from './notDerivable.ts';
import type { DeriveTask } from './tasks.ts';

/** A task that waits for its turn. */
export interface Waiting {
  task: DeriveTask;
  timeoutMs: number;
  priority: 'asked' | 'low';
  resolve: (result: never) => void;
  reject: (error: unknown) => void;
}

/** Told where a task is over, by how long it took. */
type OnOver = (waiting: Waiting, ms: number) => void;

export interface DeriveQueueOptions {
  /** No task may take longer here. */
  mostMs: number;
  onOver: OnOver;
  /** Takes a task that took longer, although it may take longer elsewhere; without it none may. */
  onTooSlow?: (waiting: Waiting) => void;
  startChild: StartChild | undefined;
}

/**
 * A process and those who wait for it: what somebody asked for before what nobody did, and of those the source that was
 * served longest ago first, so that however many documents one source has, others have their turn.
 */
export class DeriveQueue {
  readonly #process: DeriveProcess;
  readonly #mostMs: number;
  readonly #onOver: OnOver;
  readonly #onTooSlow: ((waiting: Waiting) => void) | undefined;
  readonly #waiting: Waiting[] = [];
  readonly #served = new Map<number | undefined, number>();
  #current: Waiting | undefined;
  #turns = 0;
  #isClosed = false;

  constructor(log: Log, { mostMs, onOver, onTooSlow, startChild }: DeriveQueueOptions) {
    this.#process = new DeriveProcess(log, startChild);
    this.#mostMs = mostMs;
    this.#onOver = onOver;
    this.#onTooSlow = onTooSlow;
  }

  /** How many wait. */
  get length(): number {
    return this.#waiting.length;
  }

  push(waiting: Waiting): void {
    this.#waiting.push(waiting);
    void this.#next();
  }

  async #next(): Promise<void> {
    if (this.#current || this.#isClosed) return;
    const next = this.#take();
    if (!next) return;
    this.#current = next;
    const started = performance.now();
    const limit = Math.min(next.timeoutMs, this.#mostMs);
    try {
      const result = await this.#process.run(next.task, limit);
      this.#onOver(next, performance.now() - started);
      next.resolve(result as never);
    } catch (error) {
      const isTooSlow = error instanceof NotDerivableError && error.reason === 'time_out';
      if (isTooSlow && limit < next.timeoutMs && this.#onTooSlow) this.#onTooSlow(next);
      else next.reject(error);
    }
    this.#current = undefined;
    void this.#next();
  }

  #take(): Waiting | undefined {
    let best: { waiting: Waiting; rank: number } | undefined;
    for (const waiting of this.#waiting) {
      const served = this.#served.get(sourceOf(waiting.task)) ?? 0;
      const rank = waiting.priority === 'asked' ? served : this.#turns + 1 + served;
      if (!best || rank < best.rank) best = { waiting, rank };
    }
    if (!best) {
      this.#served.clear();
      this.#turns = 0;
      return undefined;
    }
    const { waiting } = best;
    this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
    this.#turns += 1;
    this.#served.set(sourceOf(waiting.task), this.#turns);
    return waiting;
  }

  /** Ends the process; gives back who waited. */
  async close(): Promise<Waiting[]> {
    this.#isClosed = true;
    const left = [this.#current, ...this.#waiting.splice(0)].filter((one) => one !== undefined);
    await this.#process.end();
    return left;
  }
}

/** The source that brought what a task reads, by its key. */
export function sourceOf(task: DeriveTask): number | undefined {
  return task.task === 'text' ? task.object.source : task.to.source;
}
