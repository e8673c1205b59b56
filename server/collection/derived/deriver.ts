import { Problem } from '../../../shared/problems.ts';
import type { StartChild } from '../../runtime/child.ts';
import type { Log } from '../../runtime/log.ts';
import { DeriveQueue, sourceOf, type Waiting } from './lane.ts';
import type { DeriveTask, ResultOf } from './tasks.ts';

export interface DeriveOptions {
  /** How long it may take, from when it begins; then it is given up. */
  timeoutMs: number;
  /** `low` waits until nobody else does: work that nobody asked for. */
  priority?: 'asked' | 'low';
}

/** No document holds up others for longer: one that takes more goes on where only slow ones are made. */
const QUICK_MS = 1_500;
/** Whoever asks while so many wait is told to come again. */
const MOST_WAITING = 64;
/** So many sources are remembered to have brought slow documents. */
const MOST_SLOW_SOURCES = 10_000;

/**
 * Where documents are derived: in one process those that are quick, which nearly all are, and in another those that
 * turned out not to be. A source that brought a slow document has all of its documents made there, until one is quick
 * again: so a stranger's page holds up other slow ones at most.
 */
export class Deriver {
  readonly #quick: DeriveQueue;
  readonly #slow: DeriveQueue;
  readonly #slowSources = new Set<number>();
  #isClosed = false;

  constructor(log: Log, startChild?: StartChild) {
    this.#slow = new DeriveQueue(log, {
      mostMs: Number.POSITIVE_INFINITY,
      startChild,
      onOver: ({ task }, ms) => {
        if (ms < QUICK_MS) this.#slowSources.delete(sourceOf(task) ?? 0);
      },
    });
    this.#quick = new DeriveQueue(log, {
      mostMs: QUICK_MS,
      startChild,
      onOver: () => {},
      onTooSlow: (waiting) => this.#moveAside(waiting),
    });
  }

  /**
   * Runs one task.
   *
   * @throws NotDerivableError where nothing can be made of the object; Problem `derivation_busy`, `shutting_down`.
   */
  derive<Task extends DeriveTask>(task: Task, options: DeriveOptions): Promise<ResultOf<Task>> {
    const { timeoutMs, priority = 'asked' } = options;
    if (this.#isClosed) return Promise.reject(shuttingDown());
    const lane = this.#slowSources.has(sourceOf(task) ?? 0) ? this.#slow : this.#quick;
    if (priority === 'asked' && lane.length >= MOST_WAITING) return Promise.reject(busy());
    return new Promise<ResultOf<Task>>((resolve, reject) =>
      lane.push({ task, timeoutMs, priority, resolve, reject }),
    );
  }

  #moveAside(waiting: Waiting): void {
    if (this.#isClosed) return waiting.reject(shuttingDown());
    const source = sourceOf(waiting.task);
    if (source !== undefined) this.#slowSources.add(source);
    for (const oldest of this.#slowSources) {
      if (this.#slowSources.size <= MOST_SLOW_SOURCES) break;
      this.#slowSources.delete(oldest);
    }
    if (waiting.priority === 'asked' && this.#slow.length >= MOST_WAITING) waiting.reject(busy());
    else this.#slow.push(waiting);
  }

  /** Ends the processes; who waits is told that the node is being closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const left = await Promise.all([this.#quick.close(), this.#slow.close()]);
    for (const { reject } of left.flat()) reject(shuttingDown());
  }
}

function busy(): Problem {
  return new Problem('derivation_busy', 'Too many documents are being made; try again in a minute.', {
    headers: { 'Retry-After': '60' },
  });
}

function shuttingDown(): Problem {
  return new Problem('shutting_down', 'The node is being closed; try again when it runs.');
}
