import { Problem } from '../../../../shared/problems.ts';
import type { StartChild } from '../../../runtime/child.ts';
import type { Log } from '../../../runtime/log.ts';
import { shuttingDown } from '../../../runtime/shuttingDown.ts';
import type { BlobStore } from '../../../store/blobs/blobStore.ts';
import { NotDerivableError } from '../notDerivable.ts';
import { borrowObjects } from './borrowObjects.ts';
import { DeriveQueue, type Priority, type QueuedTask, sourceOf } from './deriveQueue.ts';
import type { DeriveTask, ResultOf } from './tasks.ts';

export interface DeriveOptions {
  /** Time limit, counted from the start of the task. */
  timeoutMs: number;
  priority?: Priority;
}

/** A document that takes longer is moved to the slow queue. */
const QUICK_MS = 1_500;
/** Requests are refused while this many tasks are queued. */
const MAX_QUEUED = 64;
/** Sources that are remembered as slow. */
const MAX_SLOW_SOURCES = 10_000;

/**
 * Derives documents in two processes: one for quick documents, which nearly all are, and one for slow documents. After a
 * slow document, all documents of its source go to the slow queue until one is quick again. A hostile page therefore
 * delays only other slow documents.
 */
export class Deriver {
  readonly #quick: DeriveQueue;
  readonly #slow: DeriveQueue;
  readonly #slowSources = new Set<number>();
  readonly #blobs: Pick<BlobStore, 'away'> | undefined;
  #isClosed = false;

  /** @param blobs fetches objects that have left this disk */
  constructor(log: Log, startChild?: StartChild, blobs?: Pick<BlobStore, 'away'>, quickMs = QUICK_MS) {
    this.#blobs = blobs;
    this.#slow = new DeriveQueue(log, {
      maxMs: Number.POSITIVE_INFINITY,
      startChild,
      onDone: ({ task }, ms) => {
        if (ms < quickMs) this.#slowSources.delete(sourceOf(task) ?? 0);
      },
    });
    this.#quick = new DeriveQueue(log, {
      maxMs: quickMs,
      startChild,
      onDone: () => {},
      onTooSlow: (task) => this.#moveToSlow(task),
    });
  }

  /**
   * Runs one task. Objects that have left this disk are fetched first.
   *
   * @throws NotDerivableError if nothing can be derived from the object; Problem `derivation_busy`, `shutting_down`,
   * `copy_unreachable`.
   */
  async derive<Task extends DeriveTask>(task: Task, options: DeriveOptions): Promise<ResultOf<Task>> {
    if (!this.#blobs) return this.#derive(task, options);
    const borrowed = await borrowObjects(this.#blobs, task).catch((error: unknown) => {
      throw asNotDerivable(error, options);
    });
    try {
      return await this.#derive(borrowed.task, options);
    } finally {
      borrowed.release();
    }
  }

  #derive<Task extends DeriveTask>(task: Task, options: DeriveOptions): Promise<ResultOf<Task>> {
    const { timeoutMs, priority = 'normal' } = options;
    if (this.#isClosed) return Promise.reject(shuttingDown());
    const queue = this.#slowSources.has(sourceOf(task) ?? 0) ? this.#slow : this.#quick;
    if (priority === 'normal' && queue.length >= MAX_QUEUED) return Promise.reject(busy());
    return new Promise<ResultOf<Task>>((resolve, reject) =>
      queue.push({ task, timeoutMs, priority, resolve, reject }),
    );
  }

  #moveToSlow(queued: QueuedTask): void {
    if (this.#isClosed) return queued.reject(shuttingDown());
    const source = sourceOf(queued.task);
    if (source !== undefined) this.#slowSources.add(source);
    for (const oldest of this.#slowSources) {
      if (this.#slowSources.size <= MAX_SLOW_SOURCES) break;
      this.#slowSources.delete(oldest);
    }
    if (queued.priority === 'normal' && this.#slow.length >= MAX_QUEUED) queued.reject(busy());
    else this.#slow.push(queued);
  }

  /** Ends the processes and rejects unfinished tasks with `shutting_down`. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const left = await Promise.all([this.#quick.close(), this.#slow.close()]);
    for (const { reject } of left.flat()) reject(shuttingDown());
  }
}

/** In the background, an object that cannot be had now is one that is missing now: later tasks do not wait for it. */
function asNotDerivable(error: unknown, { priority }: DeriveOptions): unknown {
  if (!(error instanceof Problem)) return error;
  if (error.code === 'blob_damaged') return new NotDerivableError('object_damaged', error.message, error);
  return priority === 'low' ? new NotDerivableError('object_missing', error.message, error) : error;
}

function busy(): Problem {
  return new Problem('derivation_busy', 'Too many documents are being processed; try again in a minute.', {
    headers: { 'Retry-After': '60' },
  });
}
